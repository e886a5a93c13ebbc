/**
 * How a call of the control panel is made, whatever it asks: with the header that no other page can send,
 * again after a wait, after the user logged in again, or confirmed their identity. Needs no
 * browser: its work is passed in.
 */
import { OWN_HEADER } from '../../model/own-header.ts'
import { ApiError, errorOf, GIVEN_UP, NOTHING_CHANGED, UNREACHABLE } from './errors.ts'

export interface Surroundings {
  readonly fetch: typeof fetch
  /** Waits; ends early where there is a reason to try at once. */
  readonly wait: (ms: number) => Promise<void>
  /** Says whether the sidecar answers. */
  readonly reachable: (yes: boolean) => void
  /** The session has ended: asks to log in again. @returns whether the same person is logged in now */
  readonly logInAgain: () => Promise<boolean>
  /** Asks for the password or whatever it takes. @returns whether it was given */
  readonly confirm: () => Promise<boolean>
}

/** How a call is treated beside its answer. */
interface How {
  /** It changes nothing, so it can be asked again after any fault. */
  readonly reads: boolean
  /**
   * Errors go to the caller: the user is not asked to log in and nothing is tried again. For logging in
   * itself.
   */
  readonly plain?: boolean
}

const SESSION_PATH = '/console/session'

/** Longest that a call waits before it is tried again by itself. */
const WAIT_MS_MAX = 10_000
const ATTEMPTS_MAX = 4
const BACK_AFTER_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000]

const WAITS: readonly number[] = [429, 503]

/** Answers to what was typed or sent, with the same status as the end of a session. */
const ABOUT_WHAT_WAS_SENT: readonly string[] = [
  ...['LOGIN_FAILED', 'LOGIN_REFUSED', 'SECOND_FACTOR_REQUIRED', 'CODE_WRONG'],
  ...['LINK_INVALID', 'PASSKEY_REFUSED', 'CALLER_TOKEN_INVALID'],
]

/** Browsers send no more than 64 KiB at once that goes on after its page. */
const GOES_ON_BYTES_MAX = 60_000

export type Ask = (path: string, init: RequestInit, how: How) => Promise<Response>

/** Makes calls. @returns a function like `fetch` that throws `ApiError` for every other answer */
export function callsIn(surroundings: Surroundings): Ask {
  let goingOn = 0
  const once = async (path: string, init: RequestInit, how: How): Promise<Response> => {
    let response: Response
    // A change goes on when its page is left, unless it is too large: then it is sent as any other.
    const bytes = bytesOf(init.body)
    const keepalive = !how.reads && goingOn + bytes <= GOES_ON_BYTES_MAX
    if (keepalive) goingOn += bytes
    try {
      const headers = new Headers(init.headers)
      for (const [name, value] of Object.entries(OWN_HEADER)) headers.set(name, value)
      const common: RequestInit = { headers, credentials: 'same-origin', cache: 'no-store', keepalive }
      response = await surroundings.fetch(path, { ...init, ...common })
    } catch (error) {
      if (init.signal?.aborted) throw error
      throw new ApiError(UNREACHABLE, '', { metadata: how.plain ? NOTHING_CHANGED : {} })
    } finally {
      if (keepalive) goingOn -= bytes
    }
    if (response.ok) return response
    const body: unknown = await response.json().catch(() => undefined)
    throw errorOf(response.status, body, response.headers.get('retry-after'))
  }
  const back = shared(() => untilBack(surroundings))
  const loggedIn = shared(surroundings.logInAgain)
  const confirmed = shared(surroundings.confirm)

  /** @returns whether the call may be made again */
  const recovered = async (error: ApiError, attempt: number, { reads }: How): Promise<boolean> => {
    if (error.reason === UNREACHABLE) {
      const again = back()
      return reads && (await again)
    }
    if (attempt >= ATTEMPTS_MAX) return false
    if (WAITS.includes(error.status)) {
      const ms = error.retryAfterMs ?? 1_000 * 2 ** attempt
      // A write that was refused for its number was not made. Whether one that met a fault was made is
      // unknown.
      if (ms > WAIT_MS_MAX || !(reads || error.status === 429)) return false
      await surroundings.wait(ms)
      return true
    }
    if (error.reason === 'REAUTHENTICATION_REQUIRED') return orGivenUp(await confirmed(), error)
    if (saysNoSession(error)) return orGivenUp(await loggedIn(), error)
    return false
  }

  return async (path, init, how) => {
    for (let attempt = 0; ; attempt++)
      try {
        return await once(path, init, how)
      } catch (error) {
        if (how.plain || !(error instanceof ApiError) || !(await recovered(error, attempt, how))) throw error
        if (init.signal?.aborted) throw error
      }
  }
}

/** Whether the session of the page has ended. */
export function saysNoSession({ status, reason }: ApiError): boolean {
  return status === 401 && !ABOUT_WHAT_WAS_SENT.includes(reason)
}

/** How many bytes are sent: every body is text. */
function bytesOf(body: RequestInit['body']): number {
  return typeof body === 'string' ? new TextEncoder().encode(body).length : 0
}

function orGivenUp(done: boolean, { message, status }: ApiError): true {
  if (done) return true
  throw new ApiError(GIVEN_UP, message, { status })
}

/** Asks until something answers. One loop, however many calls wait for it. */
async function untilBack({ fetch, wait, reachable }: Surroundings): Promise<true> {
  reachable(false)
  for (let attempt = 0; ; attempt++) {
    await wait(BACK_AFTER_MS[Math.min(attempt, BACK_AFTER_MS.length - 1)] as number)
    try {
      const { status } = await fetch(SESSION_PATH, {
        headers: OWN_HEADER,
        credentials: 'same-origin',
        cache: 'no-store',
      })
      if (status < 500) break
    } catch {}
  }
  reachable(true)
  return true
}

/** Calls while it runs wait for the same result. */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }
}
