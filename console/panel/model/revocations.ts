/**
 * Revocations that can still be undone. A key works until its revocation was sent: after ten seconds, on
 * demand, or when its page is left. Needs no browser: the clock and the call are passed in.
 */
import { apiErrorOf } from './errors.ts'
import { messageOf } from './messages.ts'

/** How long a revocation can be undone, in milliseconds. */
export const UNDO_MS = 10_000

export type Revocation =
  /** Announced. The key works, and the revocation can be undone. */
  | { readonly state: 'waiting'; readonly untilMs: number }
  /** Sent, and not answered yet. */
  | { readonly state: 'sending' }
  /** The key still works, as far as is known. */
  | { readonly state: 'failed'; readonly message: string }
  | { readonly state: 'revoked' }

export interface Outside<T> {
  /** Sends a revocation. Where the page is left, the request has begun when this returns. @throws ApiError */
  readonly send: (key: T) => Promise<void>
  readonly now: () => number
  /** Does it later. @returns takes that back */
  readonly later: (ms: number, work: () => void) => () => void
  /** Every change, with the key that it is about. */
  readonly changed: (key: T, revocation: Revocation | undefined) => void
}

export interface Revocations<T> {
  readonly of: (id: string) => Revocation | undefined
  /** Begins the ten seconds. */
  readonly announce: (key: T) => void
  /** Does nothing where it was sent already. */
  readonly undo: (id: string) => void
  /** Sends it at once; again where it failed. */
  readonly sendNow: (id: string) => Promise<void>
  /** Sends everything that waits, because it can no longer be undone. */
  readonly leave: () => Promise<void>
}

interface Entry<T> {
  readonly key: T
  readonly revocation: Revocation
  readonly stop: () => void
}

const nothing = () => {}

export function revocationsIn<T>(
  idOf: (key: T) => string,
  { send, now, later, changed }: Outside<T>,
): Revocations<T> {
  const entries = new Map<string, Entry<T>>()
  const set = (key: T, revocation: Revocation, stop: () => void = nothing): void => {
    entries.set(idOf(key), { key, revocation, stop })
    changed(key, revocation)
  }
  const stateOf = (id: string) => entries.get(id)?.revocation.state

  const sendNow = async (id: string): Promise<void> => {
    const entry = entries.get(id)
    if (entry === undefined || (stateOf(id) !== 'waiting' && stateOf(id) !== 'failed')) return
    const { key, stop } = entry
    stop()
    // Before anything else: a page that is left has no time for more.
    const sent = send(key)
    set(key, { state: 'sending' })
    try {
      await sent
      set(key, { state: 'revoked' })
    } catch (error) {
      const found = apiErrorOf(error)
      // It was revoked meanwhile, in another tab or elsewhere.
      if (found.reason === 'NOT_FOUND') set(key, { state: 'revoked' })
      else set(key, { state: 'failed', message: messageOf(found) })
    }
  }
  return {
    sendNow,
    of: (id) => entries.get(id)?.revocation,
    announce: (key) => {
      if (entries.has(idOf(key))) return
      const stop = later(UNDO_MS, () => void sendNow(idOf(key)))
      set(key, { state: 'waiting', untilMs: now() + UNDO_MS }, stop)
    },
    undo: (id) => {
      const entry = entries.get(id)
      if (entry === undefined || (stateOf(id) !== 'waiting' && stateOf(id) !== 'failed')) return
      entry.stop()
      entries.delete(id)
      changed(entry.key, undefined)
    },
    leave: async () => {
      const waiting = [...entries.keys()].filter((id) => stateOf(id) === 'waiting')
      await Promise.all(waiting.map(sendNow))
    },
  }
}

/** Whole seconds that are left, for people: never 0 while it can be undone. */
export function secondsLeft(untilMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((untilMs - nowMs) / 1_000))
}
