/**
 * Whether one directory that does one thing after the other explains all answers that clients got. Checks may
 * be late by no more than the staleness bound. It searches an order of the calls in which each answer is the
 * one of the account. The method is that of Wing and Gong, "Testing and verifying concurrent objects".
 */
import { type Account, learn, refusalOf, stands, take } from './accounts.ts'
import type { Asked, What } from './operations.ts'

/** The request of a client. Secrets have names: a login says which of them the new token has. */
export interface Question {
  readonly what: What | 'check' | 'readUser'
  readonly asked: Asked
}

/** A call with its answer. Times are of one monotonic clock, in milliseconds. */
export interface Call extends Question {
  readonly client: number
  readonly host: string
  /** The process that answered a check; empty: it is not known which one. */
  readonly process: string
  readonly callMs: number
  readonly returnMs: number
  /** A reason of a decision or of an error, `OK`, what was read, or `UNKNOWN`. */
  readonly answer: string
}

/** The answer to a change that may have taken effect, now or later. */
export const UNKNOWN = 'UNKNOWN'

/** Where the search has come to. */
interface Place {
  readonly account: Account
  /** The calls that have taken place. */
  readonly done: bigint
}

/** A call, when it may have taken place, and after which others it must have. */
interface Timed extends Call {
  readonly bit: bigint
  readonly fromMs: number
  readonly untilMs: number
  readonly after: bigint
}

/** A search of a history ends after this many places. */
const PLACES_MAX = 300_000

/** Whether it changes the directory. */
export function isChange({ what }: Question): boolean {
  return what !== 'check' && what !== 'issue' && what !== 'readUser'
}

/** The fields that are read of a user. */
export function readOf(user: { enabled: boolean; permitted: boolean; administers?: boolean }): string {
  const { enabled, permitted, administers = false } = user
  return `enabled ${enabled}, account ${permitted}, administers ${administers}`
}

/**
 * @param account when the history begins
 * @returns the calls that are in no explanation of the most others; none: all are explained
 * @throws Error where the search is too long
 */
export function unexplained(account: Account, calls: readonly Call[], stalenessMs: number): readonly Call[] {
  const all = calls.map((call, index) => timed(call, index, calls, stalenessMs))
  const leftAt = ({ done }: Place) => all.filter(({ bit }) => (done & bit) === 0n)
  const seen = new Set<string>()
  let least: readonly Timed[] = all
  const explains = (begun: Place): boolean => {
    const place = withReads(begun, leftAt(begun))
    const left = leftAt(place)
    if (left.length < least.length) least = left
    // A call without an answer may never take place.
    if (left.every(({ untilMs }) => untilMs === Number.POSITIVE_INFINITY)) return true
    const name = `${place.done} ${JSON.stringify(place.account)}`
    if (seen.has(name)) return false
    if (seen.add(name).size > PLACES_MAX) throw new Error('the search is too long')
    return thoseInTurn(left, place).some((call) => {
      const next = after(place.account, call)
      return next !== undefined && explains({ account: next, done: place.done | call.bit })
    })
  }
  return explains({ account, done: 0n }) ? [] : least
}

/**
 * A check may be answered as of any moment from the bound before its call to its return. A change that its
 * host has acknowledged before the call has taken place before it. So has each answer of its process about
 * the token. Everything else takes place between its call and its return, or at any time after it, or never,
 * where there was no answer.
 */
function timed(call: Call, index: number, calls: readonly Call[], stalenessMs: number): Timed {
  const isCheck = call.what === 'check'
  const value = nameOfToken(call)
  const isBefore = (other: Call) => {
    if (!isCheck || other.returnMs >= call.callMs) return false
    if (isChange(other) && other.answer === 'OK' && other.host === call.host) return true
    const isOfToken = nameOfToken(other) === value
    if (other.what === 'issue') return isOfToken
    return other.what === 'check' && isOfToken && other.process !== '' && other.process === call.process
  }
  return {
    ...{ ...call, bit: 1n << BigInt(index), fromMs: call.callMs - (isCheck ? stalenessMs : 0) },
    untilMs: call.answer === UNKNOWN ? Number.POSITIVE_INFINITY : call.returnMs,
    after: calls.reduce((sum, other, each) => (isBefore(other) ? sum | (1n << BigInt(each)) : sum), 0n),
  }
}

/** Those that can take place before all the others that are left. */
function thoseInTurn(left: readonly Timed[], { done }: Place): readonly Timed[] {
  const firstMs = Math.min(...left.map(({ untilMs }) => untilMs))
  return left.filter((call) => call.fromMs <= firstMs && (call.after & ~done) === 0n)
}

/** A call that can take place now and changes nothing does so: that takes nothing from later calls. */
function withReads({ account, done }: Place, left: readonly Timed[]): Place {
  const reads = thoseInTurn(left, { account, done }).filter((call) => after(account, call) === account)
  if (reads.length === 0) return { account, done }
  const now = reads.reduce((sum, { bit }) => sum | bit, done)
  return withReads(
    { account, done: now },
    left.filter(({ bit }) => (now & bit) === 0n),
  )
}

/** The account after the call: itself, or another one; `undefined`: it could not have given that answer. */
function after(account: Account, { what, asked, answer }: Call): Account | undefined {
  if (what === 'check') return statusOf(account, asked) === answer ? account : undefined
  const { name = '' } = asked
  const user = account.users[name]
  if (what === 'readUser') return (user ? readOf(user) : 'NOT_FOUND') === answer ? account : undefined
  const operation = { what, asked }
  if (what === 'issue') {
    const isOpen = account.exists && account.enabled && user?.enabled === true
    const isLoggedIn = isOpen && user.password === asked.password
    const isPermitted = isLoggedIn && stands(account, { user: name, project: asked.project })
    // The permission is looked at later than the password, which may be another one by then.
    const isRight = { OK: isPermitted, LOGIN_FAILED: !isLoggedIn, PERMISSION_MISSING: !isPermitted }
    if (!isRight[answer as keyof typeof isRight]) return undefined
    if (answer !== 'OK') return account
  } else {
    const refusal = refusalOf(account, operation)
    // One that is refused and has no answer may as well never take place.
    if (answer === UNKNOWN ? refusal !== undefined : answer !== (refusal ?? 'OK')) return undefined
    if (refusal !== undefined) return account
  }
  const next = structuredClone(account)
  take(next, operation)
  learn(next, operation, { secret: what === 'issue' ? nameOfToken({ asked }) : (asked.password ?? '') })
  // The audit trail is not judged, and would make every place another one.
  return Object.assign(next, { audit: [] })
}

/** The answer to a check of a token: a static one is known by its name. */
function statusOf(account: Account, asked: Asked): string {
  const value = nameOfToken({ asked })
  const token = account.tokens.find((each) => each.value === value)
  const { exists, enabled, ownerDisabled, keys } = account
  const isActive = token ? !token.dead : exists && enabled && !ownerDisabled && keys?.[value] === true
  if (!isActive) return 'CREDENTIAL_REVOKED'
  return account.restricted ? 'ADDRESS_NOT_ALLOWED' : 'ALLOWED'
}

function nameOfToken({ asked: { token } }: Pick<Question, 'asked'>): string {
  return token !== undefined && 'value' in token ? token.value : ''
}
