/** What the control panel gives to the page, which does not know it otherwise. */
import type { ComponentType } from 'preact'
import type { Route } from '../model/link.ts'
import type { Rules } from '../model/rules.ts'

/** The control panel, loaded with its first view or after the first view of the explorer. */
export interface ControlPanel {
  /** In the upper right corner. @param route absent: the explorer is shown */
  readonly Menu: ComponentType<{ readonly route: Route | undefined }>
  /** A page of it, with what stands beside it. */
  readonly View: ComponentType<{ readonly route: Route }>
  /** Dialogs and messages over whatever is shown. */
  readonly Over: ComponentType
  readonly titleOf: (route: Route) => string
}

/** The way into the control panel, where there is one. */
export interface PanelEntry {
  /** @param rules those in force */
  readonly load: (rules: Rules) => Promise<ControlPanel>
  /** The page that the address leads to; `undefined`: a view of the explorer. Takes a secret out of the address. */
  readonly routeHere: () => Route | undefined
}
