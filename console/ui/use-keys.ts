/**
 * The keys that work anywhere on the page, unless the user types or has turned them off (WCAG 2.1.4). In the
 * control panel none of them leads elsewhere: texts that were typed there are not kept.
 */
import { useLayoutEffect } from 'preact/hooks'
import { PAGES } from '../model/view.ts'
import type { Go } from './use-view.ts'

interface Keys {
  readonly go: Go
  readonly singleKeys: boolean
  /** Whether they may lead to another page. */
  readonly leads: boolean
  readonly openHelp: () => void
}

export function useKeys({ go, singleKeys, leads, openHelp }: Keys): void {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (!singleKeys || isTyping(event.target)) return
      const page = leads ? PAGES[Number(event.key) - 1] : undefined
      if (event.key === '?') openHelp()
      else if (event.key === '/') {
        // At once where it can be, so that no letter is lost that is typed next.
        if (!focusSearch() && leads) {
          go({ page: 'matrix' })
          requestAnimationFrame(() => requestAnimationFrame(focusSearch))
        }
      } else if (page !== undefined) go({ page })
      else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [go, singleKeys, leads, openHelp])
}

function focusSearch(): boolean {
  const search = document.getElementById('search')
  search?.focus()
  return search !== null
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, dialog') !== null
}
