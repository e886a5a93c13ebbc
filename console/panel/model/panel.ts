/**
 * The state of the control panel: who is logged in, which dialog a call waits for, and whether the sidecar
 * answers. Needs no browser: its work is passed in, and its state is a value that views subscribe to.
 */
import { type Ask, callsIn, saysNoSession } from './calls.ts'
import { type ApiError, apiErrorOf } from './errors.ts'
import type { Session, SessionAnswer, Who } from './wire.ts'

export interface PanelState {
  /** `undefined`: not asked for yet. */
  readonly session: SessionAnswer | undefined
  /** Why it is not known who is logged in. */
  readonly problem: ApiError | undefined
  /** The dialog over the page that calls wait for. */
  readonly dialog: 'none' | 'login' | 'confirm'
  readonly reachable: boolean
  /** The lead of the sidecar's clock over this one, in milliseconds. */
  readonly aheadMs: number
}

/** The message of one tab to the others. */
export type Told = 'in' | 'out'

export interface Outside {
  readonly fetch: typeof fetch
  readonly wait: (ms: number) => Promise<void>
  readonly now: () => number
  readonly tell: (told: Told) => void
}

export interface Panel {
  readonly state: () => PanelState
  /** @returns ends the subscription */
  readonly subscribe: (listener: () => void) => () => void
  readonly ask: Ask
  /** Asks who is logged in, unless that is known. A fault is in the state. */
  readonly open: () => Promise<void>
  /** The user logged in, or confirmed their identity. */
  readonly accept: (session: Session) => void
  /**
   * Confirms that it is the same person. Where the session has ended meanwhile, whatever waits for it waits
   * for a login.
   */
  readonly confirm: (work: () => Promise<Session>) => Promise<void>
  /** Ends the session, here and in the other tabs. */
  readonly logOut: () => Promise<void>
  /** Does something before the session is ended, which needs it. @returns takes that back */
  readonly beforeLogOut: (work: () => Promise<void>) => () => void
  /** Another tab sent a message. */
  readonly heard: (told: Told) => Promise<void>
  /** The dialog was closed without an answer. */
  readonly giveUp: () => void
  /** Milliseconds since the epoch, by the clock of the sidecar. */
  readonly nowMs: () => number
}

const SESSION = '/console/session'

/** A state that views subscribe to, and the dialog that calls wait for. */
function storeOf(first: PanelState) {
  let state = first
  const waiting: ((done: boolean) => void)[] = []
  const listeners = new Set<() => void>()
  const change = (changed: Partial<PanelState>): void => {
    state = { ...state, ...changed }
    for (const listener of listeners) listener()
  }
  return {
    change,
    state: () => state,
    subscribe: (listener: () => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    /** Opens a dialog. A login is a confirmation, too. @returns what it is closed with */
    dialog: (which: 'login' | 'confirm'): Promise<boolean> => {
      change({ dialog: state.dialog === 'login' ? 'login' : which })
      return new Promise((resolve) => waiting.push(resolve))
    },
    close: (done: boolean, changed: Partial<PanelState>): void => {
      change({ ...changed, dialog: 'none' })
      for (const answer of waiting.splice(0)) answer(done)
    },
  }
}

/** The last work before a user is logged out, as far as it can be done. */
class LastWork {
  readonly #work = new Set<() => Promise<void>>()

  /** @returns a function that takes the work out again */
  add(work: () => Promise<void>): () => void {
    this.#work.add(work)
    return () => this.#work.delete(work)
  }

  async done(): Promise<void> {
    await Promise.allSettled([...this.#work].map((work) => work()))
  }
}

const AT_FIRST: PanelState = {
  session: undefined,
  problem: undefined,
  dialog: 'none',
  reachable: true,
  aheadMs: 0,
}

export function panelIn({ fetch, wait, now, tell }: Outside): Panel {
  const store = storeOf(AT_FIRST)
  const { state, close, dialog } = store
  const signedOut = (): Partial<PanelState> => ({
    session: { signedIn: false, passkeys: state().session?.passkeys ?? false },
  })
  const take = (session: SessionAnswer): boolean => {
    const { session: before, aheadMs } = state()
    const same = samePerson(whoOf(before), whoOf(session))
    const changed = {
      session,
      problem: undefined,
      aheadMs: session.signedIn ? session.nowMs - now() : aheadMs,
    }
    if (state().dialog === 'none' || !session.signedIn) store.change(changed)
    // A typed text belongs to its author: another person does not send it.
    else close(same, changed)
    return same
  }
  const read = async (plain: boolean): Promise<SessionAnswer> => {
    const response = await ask(SESSION, {}, { reads: true, plain })
    return (await response.json()) as SessionAnswer
  }
  const ask = callsIn({
    ...{ fetch, wait },
    logInAgain: async () => {
      const session = await read(true)
      // Another tab may have logged in meanwhile.
      return session.signedIn ? take(session) : dialog('login')
    },
    confirm: () => dialog('confirm'),
    reachable: (reachable) => store.change({ reachable }),
  })
  const accept = (session: Session): void => {
    take(session)
    tell('in')
  }
  const last = new LastWork()
  let opening: Promise<unknown> | undefined
  return {
    ...{ state, ask, subscribe: store.subscribe },
    open: async () => {
      opening ??= read(false).then(take, (error) => {
        opening = undefined
        store.change({ problem: apiErrorOf(error) })
      })
      await opening
    },
    accept,
    confirm: (work) =>
      work().then(
        accept,
        orEnded(() => store.change({ dialog: 'login' })),
      ),
    beforeLogOut: (work) => last.add(work),
    logOut: async () => {
      await last.done()
      await ask(`${SESSION}/end`, jsonOf({}), { reads: false, plain: true })
      close(false, signedOut())
      tell('out')
    },
    heard: async (told) => {
      if (told === 'out') close(false, signedOut())
      else take(await read(true))
    },
    giveUp: () => close(false, state().dialog === 'login' ? signedOut() : {}),
    nowMs: () => now() + state().aheadMs,
  }
}

/** The reaction to the end of the session. Any other error is thrown. */
function orEnded(ended: () => void): (error: unknown) => void {
  return (error) => {
    if (!saysNoSession(apiErrorOf(error))) throw error
    ended()
  }
}

/** A POST with JSON. */
export function jsonOf(body: object): RequestInit {
  return { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
}

export function whoOf(session: SessionAnswer | undefined): Who | undefined {
  return session?.signedIn ? session.who : undefined
}

/** Whether both are the same user, or the same operator. Rights may have changed. */
export function samePerson(one: Who | undefined, other: Who | undefined): boolean {
  if (one === undefined || other === undefined) return false
  if (one.type === 'user')
    return other.type === 'user' && one.account === other.account && one.name === other.name
  return other.type === 'operator' && one.name === other.name
}
