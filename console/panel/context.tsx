/** The shared context of the control panel: its state, its calls, the way to other pages, and messages. */
import { createContext } from 'preact'
import { useCallback, useContext, useEffect, useState } from 'preact/hooks'
import { hashOfRoute, type PanelPage, type Route } from '../model/routes.ts'
import type { Rules } from '../model/rules.ts'
import type { Api } from './model/api.ts'
import { accountOf } from './model/pages.ts'
import { type Panel, type PanelState, whoOf } from './model/panel.ts'
import type { Toaster } from './model/toasts.ts'
import type { Session, Who } from './model/wire.ts'

export interface Context {
  readonly panel: Panel
  readonly api: Api
  readonly toaster: Toaster
  /** The pages that exist. */
  readonly there: readonly PanelPage[]
  /**
   * The rules in force: which API accepts which kind of token. `undefined`: the sidecar does not show them,
   * or not yet.
   */
  readonly rules?: Rules | undefined
}

const Provided = createContext<Context | undefined>(undefined)
export const PanelProvider = Provided.Provider

const Here = createContext<Route | undefined>(undefined)
export const RouteProvider = Here.Provider

export function usePanel(): Context {
  const context = useContext(Provided)
  if (context === undefined) throw new TypeError('expected to be drawn inside of the control panel')
  return context
}

/** The calls. */
export function useApi(): Api {
  return usePanel().api
}

/** Says something in a corner. */
export function useToast(): Toaster['say'] {
  return usePanel().toaster.say
}

export function usePanelState(): PanelState {
  const { panel } = usePanel()
  const [state, setState] = useState(panel.state)
  useEffect(() => {
    const read = () => setState(panel.state())
    read()
    return panel.subscribe(read)
  }, [panel])
  return state
}

/** The session of the user who is logged in. Only for pages that need one. */
export function useSession(): Session {
  const { session } = usePanelState()
  if (!session?.signedIn) throw new TypeError('expected a user who is logged in')
  return session
}

export function useWho(): Who {
  return useSession().who
}

/** Where we are. */
export function useRoute(): Route {
  const route = useContext(Here)
  if (route === undefined) throw new TypeError('expected to be drawn inside of a page')
  return route
}

/** The account that the page is about: the user's own, or the one that an operator chose (`?account=`). */
export function useAccount(): string | undefined {
  return accountOf(useWho(), useRoute())
}

/** Goes to a page; or, with `replace`, changes what stands behind `?` of this one. */
export function goTo(route: Route, how: 'push' | 'replace' = 'push'): void {
  const hash = hashOfRoute(route)
  if (hash === location.hash) return
  if (how === 'push') history.pushState(null, '', hash)
  else history.replaceState(null, '', hash)
  dispatchEvent(new Event('popstate'))
}

/** Changes what stands behind `?`: `undefined` takes a name away. */
export function useGiven(): readonly [
  Route['given'],
  (change: Readonly<Record<string, string | undefined>>, how?: 'push' | 'replace') => void,
] {
  const route = useRoute()
  const change = useCallback(
    (changed: Readonly<Record<string, string | undefined>>, how: 'push' | 'replace' = 'replace') => {
      const given = Object.entries({ ...route.given, ...changed }).filter((each) => each[1] !== undefined)
      goTo({ ...route, given: Object.fromEntries(given) as Route['given'] }, how)
    },
    [route],
  )
  return [route.given, change]
}

/** The user who is logged in, if any. */
export function useMaybeWho(): Who | undefined {
  return whoOf(usePanelState().session)
}
