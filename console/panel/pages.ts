/** The pages of the control panel: each is a chunk of its own. A page of this table is in the menu of whoever may see it. */
import type { ComponentType } from 'preact'
import type { PanelPage } from '../model/routes.ts'

type Loaded = Promise<ComponentType>

export const PAGES: Readonly<Partial<Record<PanelPage, () => Loaded>>> = {
  overview: async () => (await import('./pages/overview.tsx')).OverviewPage,
}

/** The pages that exist. */
export const THERE = Object.keys(PAGES) as readonly PanelPage[]
