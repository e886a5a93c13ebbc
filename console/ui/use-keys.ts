/** The keys that work anywhere on the page, unless somebody types or has turned them off (WCAG 2.1.4). */
import { useEffect } from 'preact/hooks'
import { PAGES } from '../model/view.ts'
import type { Go } from './use-view.ts'

interface Keys {
  readonly go: Go
  readonly singleKeys: boolean
  readonly openHelp: () => void
}

export function useKeys({ go, singleKeys, openHelp }: Keys): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (!singleKeys || isTyping(event.target)) return
      const page = PAGES[Number(event.key) - 1]
      if (event.key === '?') openHelp()
      else if (event.key === '/') {
        // At once where it can be, so that no letter is lost that is typed next.
        if (!focusSearch()) {
          go({ page: 'matrix' })
          requestAnimationFrame(() => requestAnimationFrame(focusSearch))
        }
      } else if (page !== undefined) go({ page })
      else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [go, singleKeys, openHelp])
}

function focusSearch(): boolean {
  const search = document.getElementById('search')
  search?.focus()
  return search !== null
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, dialog') !== null
}
