/** Messages: what was done, and for some seconds the way to undo it. */

export interface Toast {
  readonly text: string
  /** What is done meanwhile, or for good: see `undo`. */
  readonly undo?: () => void
  /** Called once when the message goes without an undo: the moment to do what was only announced. */
  readonly gone?: () => void | Promise<void>
  readonly kind?: 'done' | 'failed'
  /** How long it stays. */
  readonly ms?: number
}

export interface Shown extends Toast {
  readonly id: number
}

export interface Toaster {
  readonly say: (toast: Toast) => void
  readonly shown: () => readonly Shown[]
  readonly close: (id: number, undone: boolean) => void
  /** Closes all, and waits for what they announced. */
  readonly flush: () => Promise<void>
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
  const closed = (id: number, undone: boolean): unknown => {
    const toast = shown.find((each) => each.id === id)
    clearTimeout(timers.get(id))
    timers.delete(id)
    set(shown.filter((each) => each.id !== id))
    return undone ? toast?.undo?.() : toast?.gone?.()
  }
  // Whoever announced something says what became of it.
  const close = (id: number, undone: boolean): void => {
    void Promise.allSettled([closed(id, undone)])
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
    flush: async () => {
      await Promise.allSettled(shown.map(({ id }) => closed(id, false)))
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
