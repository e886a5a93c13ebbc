/** What every page of the explorer is given, and what the control panel gives to the page. */
import type { ComponentType } from 'preact'
import type { Engine } from '../../engine/index.ts'
import type { Route } from '../model/link.ts'
import type { Mode, Rules } from '../model/rules.ts'
import type { Circumstances, Headers, Verdict } from '../model/verify.ts'
import type { View } from '../model/view.ts'
import type { Go } from './use-view.ts'

/** Asks the sidecar that served the page. */
export type Verify = (api: string, headers: Headers, circumstances: Circumstances) => Promise<Verdict>

export interface PageProps {
  readonly rules: Rules
  readonly mode: Mode
  /** The engine of the mode. */
  readonly engine: Engine
  readonly view: View
  readonly go: Go
  /** `undefined`: no sidecar served the page, or it answers no calls over HTTP. */
  readonly verify: Verify | undefined
}

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
  readonly load: () => Promise<ControlPanel>
  /** The page that the address leads to; `undefined`: a view of the explorer. Takes a secret out of the address. */
  readonly routeHere: () => Route | undefined
}
