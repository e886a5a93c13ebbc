/** Messages in a corner: what was done, and for some seconds the way to undo it. Read out as they come. */
import { useEffect, useState } from 'preact/hooks'
import { texts } from '../../texts/en/panel.ts'
import { Icon } from '../../ui/icons.tsx'

export interface Toast {
  readonly text: string
  /** What is done meanwhile, or for good: see `undo`. */
  readonly undo?: () => void
  /** Called once when the message goes without an undo: the moment to do what was only announced. */
  readonly gone?: () => void
  readonly kind?: 'done' | 'failed'
  /** How long it stays. */
  readonly ms?: number
}

interface Shown extends Toast {
  readonly id: number
}

export interface Toaster {
  readonly say: (toast: Toast) => void
  readonly shown: () => readonly Shown[]
  readonly close: (id: number, undone: boolean) => void
  readonly subscribe: (listener: () => void) => () => void
}

const STAYS_MS = 5_000
/** As long as a revocation can be undone (issue: ten seconds). */
const STAYS_WITH_UNDO_MS = 10_000

export function newToaster(): Toaster {
  let shown: readonly Shown[] = []
  let last = 0
  const listeners = new Set<() => void>()
  const timers = new Map<number, ReturnType<typeof setTimeout>>()
  const set = (next: readonly Shown[]) => {
    shown = next
    for (const listener of listeners) listener()
  }
  const close = (id: number, undone: boolean) => {
    const toast = shown.find((each) => each.id === id)
    clearTimeout(timers.get(id))
    timers.delete(id)
    set(shown.filter((each) => each.id !== id))
    if (undone) toast?.undo?.()
    else toast?.gone?.()
  }
  return {
    say: (toast) => {
      last += 1
      const id = last
      set([...shown, { ...toast, id }])
      const ms = toast.ms ?? (toast.undo === undefined ? STAYS_MS : STAYS_WITH_UNDO_MS)
      timers.set(id, setTimeout(close, ms, id, false))
    },
    shown: () => shown,
    close,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export function Toasts({ toaster }: { readonly toaster: Toaster }) {
  const [shown, setShown] = useState(toaster.shown)
  useEffect(() => toaster.subscribe(() => setShown(toaster.shown())), [toaster])
  // What was announced is done when the page is left.
  useEffect(() => {
    const leave = () => {
      for (const { id } of toaster.shown()) toaster.close(id, false)
    }
    addEventListener('pagehide', leave)
    return () => removeEventListener('pagehide', leave)
  }, [toaster])
  return (
    <section class="toasts" aria-label={texts.toast.label} aria-live="polite">
      {shown.map(({ id, text, undo, kind = 'done' }) => (
        <div key={id} class="toast" data-kind={kind}>
          <p>{text}</p>
          {undo && (
            <button type="button" class="link" onClick={() => toaster.close(id, true)}>
              {texts.toast.undo}
            </button>
          )}
          <button
            type="button"
            class="quiet"
            aria-label={texts.toast.close}
            onClick={() => toaster.close(id, false)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </section>
  )
}
