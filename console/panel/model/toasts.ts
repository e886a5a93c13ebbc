/** Messages: what was done, or what was not. They go by themselves. */

interface Toast {
  readonly text: string
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
  readonly close: (id: number) => void
  readonly subscribe: (listener: () => void) => () => void
}

const STAYS_MS = 5_000

export function newToaster(): Toaster {
  let shown: readonly Shown[] = []
  let last = 0
  const listeners = new Set<() => void>()
  const timers = new Map<number, ReturnType<typeof setTimeout>>()
  const set = (next: readonly Shown[]) => {
    shown = next
    for (const listener of listeners) listener()
  }
  const close = (id: number): void => {
    clearTimeout(timers.get(id))
    timers.delete(id)
    set(shown.filter((each) => each.id !== id))
  }
  return {
    say: (toast) => {
      last += 1
      const id = last
      set([...shown, { ...toast, id }])
      timers.set(id, setTimeout(close, toast.ms ?? STAYS_MS, id))
    },
    shown: () => shown,
    close,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
