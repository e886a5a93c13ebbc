/** The parts that the control panel gives to the page, which does not import it. */
import type { ComponentType } from 'preact'
import type { Route } from '../model/link.ts'
import type { Rules } from '../model/rules.ts'

/** The control panel, loaded with its first view or after the first view of the explorer. */
export interface ControlPanel {
  /** In the upper right corner. @param route absent: the explorer is shown */
  readonly Menu: ComponentType<{ readonly route: Route | undefined }>
  /** A page of it, with what stands beside it. @param rules those in force, if they are known */
  readonly View: ComponentType<{ readonly route: Route; readonly rules: Rules | undefined }>
  /**
   * A login form, in place of content that needs a login.
   *
   * @param about what that is
   */
  readonly Login: ComponentType<{ readonly about: string }>
  /** Dialogs and messages over whatever is shown. */
  readonly Over: ComponentType
  readonly titleOf: (route: Route) => string
}

/** The way into the control panel, where there is one. */
export interface PanelEntry {
  /** @param changed called when the user has logged in or out */
  readonly load: (changed: (loggedIn: boolean) => void) => Promise<ControlPanel>
  /**
   * The page that the address leads to; `undefined`: a view of the explorer. Takes a secret out of the
   * address.
   */
  readonly routeHere: () => Route | undefined
}
