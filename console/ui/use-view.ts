/** The view in the address: read from it, and written to it. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { hashOf, type View, viewOf } from '../model/view.ts'

/** Changes the view. `push`: the way back leads to the view before. */
export type Go = (change: Partial<View>, how?: 'push' | 'replace') => void

/** Browsers refuse an address that changes with every key. */
const WRITTEN_AFTER_MS = 300

export function useView(): readonly [View, Go] {
  const [view, setView] = useState(() => viewOf(location.hash))
  const current = useRef(view)
  const later = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)

  useEffect(() => {
    const read = () => {
      clearTimeout(later.current)
      current.current = viewOf(location.hash)
      setView(current.current)
    }
    addEventListener('hashchange', read)
    addEventListener('popstate', read)
    return () => {
      removeEventListener('hashchange', read)
      removeEventListener('popstate', read)
    }
  }, [])

  const go = useCallback<Go>((change, how = 'push') => {
    const before = hashOf(current.current)
    current.current = { ...current.current, ...change }
    setView(current.current)
    clearTimeout(later.current)
    const hash = hashOf(current.current)
    if (how === 'replace')
      later.current = setTimeout(() => history.replaceState(null, '', hash), WRITTEN_AFTER_MS)
    else if (hash !== before) {
      // What is not written yet belongs to the view before.
      history.replaceState(null, '', before)
      history.pushState(null, '', hash)
    }
  }, [])

  return [view, go]
}
