/** The view in the address, or the page of the control panel: read from it, and written to it. */
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Route } from '../model/link.ts'
import { hashOf, type View, viewOf } from '../model/view.ts'
import type { PanelEntry } from './control-panel.ts'
import { isTakenBack, leaveTo } from './stay.ts'

/** Changes the view. `push`: the way back leads to the view before. */
export type Go = (change: Partial<View>, how?: 'push' | 'replace') => void

/** Browsers refuse an address that changes with every key. */
const WRITTEN_AFTER_MS = 300

/** @param entry without one the links of the control panel lead to the first view */
export function useView(entry: PanelEntry | undefined): readonly [View, Go, Route | undefined] {
  const routeHere = useCallback(() => entry?.routeHere(), [entry])
  const [view, setView] = useState(() => viewOf(location.hash))
  const [route, setRoute] = useState(routeHere)
  const current = useRef(view)
  const later = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)

  // With the first view, so that no change of the address is missed between the two.
  useLayoutEffect(() => {
    const read = (event: Event) => {
      clearTimeout(later.current)
      const found = routeHere()
      if (isTakenBack(event)) return
      setRoute(found)
      // The explorer is as it was when the user comes back to it from the control panel.
      if (found !== undefined) return
      current.current = viewOf(location.hash)
      setView(current.current)
    }
    addEventListener('hashchange', read)
    addEventListener('popstate', read)
    return () => {
      removeEventListener('hashchange', read)
      removeEventListener('popstate', read)
    }
  }, [routeHere])

  const move = useCallback<Go>(
    (change, how = 'push') => {
      const fromPanel = routeHere() !== undefined
      const before = hashOf(current.current)
      current.current = { ...current.current, ...change }
      setView(current.current)
      setRoute(undefined)
      clearTimeout(later.current)
      const hash = hashOf(current.current)
      if (fromPanel) history.pushState(null, '', hash)
      else if (how === 'replace')
        later.current = setTimeout(() => history.replaceState(null, '', hash), WRITTEN_AFTER_MS)
      else if (hash !== before) {
        // An unwritten change belongs to the view before.
        history.replaceState(null, '', before)
        history.pushState(null, '', hash)
      }
    },
    [routeHere],
  )

  const go = useCallback<Go>(
    (change, how) => (routeHere() === undefined ? move(change, how) : leaveTo(() => move(change, how))),
    [move, routeHere],
  )

  return [view, go, route]
}
