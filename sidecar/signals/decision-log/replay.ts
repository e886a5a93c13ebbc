/**
 * The decisions of another matrix: each line of a decision log is asked again. The answers of
 * authorities about a credential stay as they were, and so do the headers of a request.
 */
import { CREDENTIAL_REASONS, type Engine, fieldValue, placeName } from '../../../engine/index.ts'
import { kindOfScope } from '../../authority/kind-of-scope.ts'
import { checkClaims, checkCredentials, checkKind } from '../../usecases/check.ts'
import type { Line } from './read-line.ts'

/**
 * `opened`: denied before, allowed now. `reason`: denied as before, for another reason. `conflicts`: as
 * before, with other conflicts.
 */
export type ChangeType = 'opened' | 'closed' | 'reason' | 'conflicts'

/** How many decisions of each type. */
export type ChangeCounts = Record<ChangeType, number>

/** A decision that stands for others: its time, and its asker, as far as the line has it. */
export type Sample = Pick<Line, 'time' | 'caller' | 'client_address' | 'subject' | 'request_id'> & {
  readonly account: string | undefined
}

/** Decisions about one cell that would change in the same way. */
export interface Change {
  readonly type: ChangeType
  readonly api: string
  /** `undefined`: the token is not known. */
  readonly kind: string | undefined
  /** Reasons. */
  readonly before: string
  readonly after: string
  readonly conflictsBefore: readonly string[]
  readonly conflictsAfter: readonly string[]
  decisions: number
  /** How many of them passed anyway, because proxies were only observed. */
  observed: number
  /** The first one that was read. */
  readonly sample: Sample
}

/** Why it is unknown what the other matrix would decide about a line. */
export const UNTOLD = {
  api_is_new: 'the API was unknown, so the credential was not checked',
  header_is_new: 'the log does not say whether the credential is valid in that header',
  header_is_gone: 'the matrix has no such header for credentials',
  own_token: 'no token opened the API, and now some would',
  cut: 'the line contains only the beginning of a text',
} as const

/** Decisions of one account that would change. */
export interface AccountChanges {
  /** Of the user, of the token or of the resource; `undefined`: the line has none. */
  readonly account: string | undefined
  readonly counts: ChangeCounts
}

export type Untold = keyof typeof UNTOLD

/** Maximum number of different changes that are listed. Further ones are counted. */
const CHANGES_MAX = 10_000

/** Maximum number of accounts that are counted alone: the first ones that are read. */
const ACCOUNTS_MAX = 1_000

export const CHANGE_TYPES: readonly ChangeType[] = ['opened', 'closed', 'reason', 'conflicts']

/** The fields that are compared. */
export interface Answer extends Pick<Line, 'allowed' | 'reason'> {
  readonly conflicts: readonly { readonly id: string }[]
  /** Why; `undefined`: there is no token that the sentence would be about. */
  readonly message?: string
}

export class Replay {
  readonly #engineFor: (strict: boolean) => Engine
  readonly #changes = new Map<string, Change>()
  decisions = 0
  changed = 0
  /** Changed decisions beyond those that are listed. */
  further = 0
  /** Decisions that denied, and whose requests passed anyway. */
  observed = 0
  readonly counts = newCounts()
  readonly untold = new Map<Untold, number>()
  /** Of untold decisions: how many may open, and how many may close. */
  readonly mayChange = { opened: 0, closed: 0 }
  readonly #accounts = new Map<string | undefined, ChangeCounts>()
  /** Of the accounts beyond those that are counted alone; `undefined`: there are none. */
  otherAccounts: ChangeCounts | undefined

  /** @param engineFor the engine in place of one in that mode */
  constructor(engineFor: (strict: boolean) => Engine) {
    this.#engineFor = engineFor
  }

  add(line: Line): void {
    this.decisions++
    if (line.observed) this.observed++
    const answer = answerTo(this.#engineFor(line.strict), line)
    if (typeof answer === 'string') {
      this.untold.set(answer, (this.untold.get(answer) ?? 0) + 1)
      this.mayChange[line.allowed ? 'closed' : 'opened']++
    } else this.#compare(line, answer)
  }

  /** Opened cells first. */
  get changes(): readonly Change[] {
    return [...this.#changes.values()].sort(
      (a, b) =>
        CHANGE_TYPES.indexOf(a.type) - CHANGE_TYPES.indexOf(b.type) ||
        b.decisions - a.decisions ||
        compare(a.api, b.api) ||
        compare(a.kind ?? '', b.kind ?? '') ||
        compare(a.before, b.before),
    )
  }

  /** Those with most changes first. */
  get accounts(): readonly AccountChanges[] {
    const sum = (counts: ChangeCounts) => CHANGE_TYPES.reduce((total, type) => total + counts[type], 0)
    return Array.from(this.#accounts, ([account, counts]) => ({ account, counts })).sort(
      (a, b) => sum(b.counts) - sum(a.counts) || compare(a.account ?? '', b.account ?? ''),
    )
  }

  #countsOf(account: string | undefined): ChangeCounts {
    let counts = this.#accounts.get(account)
    if (counts !== undefined) return counts
    if (this.#accounts.size >= ACCOUNTS_MAX) {
      this.otherAccounts ??= newCounts()
      return this.otherAccounts
    }
    counts = newCounts()
    this.#accounts.set(account, counts)
    return counts
  }

  #compare(line: Line, { allowed, reason, conflicts }: Answer): void {
    const conflictsBefore = line.conflicts.toSorted()
    const conflictsAfter = conflicts.map(({ id }) => id).toSorted()
    const key = JSON.stringify([line.api, line.kind, line.reason, reason, conflictsBefore, conflictsAfter])
    let type: ChangeType
    if (line.allowed !== allowed) type = allowed ? 'opened' : 'closed'
    else if (line.reason !== reason) type = 'reason'
    else if (conflictsBefore.join('\n') !== conflictsAfter.join('\n')) type = 'conflicts'
    else return
    this.changed++
    this.counts[type]++
    this.#countsOf(accountOf(line))[type]++
    const observed = Number(line.observed === true)
    const known = this.#changes.get(key)
    if (known !== undefined) {
      known.decisions++
      known.observed += observed
    } else if (this.#changes.size >= CHANGES_MAX) this.further++
    else {
      const { api, kind, reason: before } = line
      const both = { conflictsBefore, conflictsAfter }
      const of = { type, api, kind, before, after: reason, ...both }
      this.#changes.set(key, { ...of, decisions: 1, observed, sample: sampleOf(line) })
    }
  }
}

function newCounts(): ChangeCounts {
  return { opened: 0, closed: 0, reason: 0, conflicts: 0 }
}

function accountOf({ subject, scope, target }: Line): string | undefined {
  // Claims of callers may be empty.
  return subject?.account || scope?.account || target?.account || undefined
}

function sampleOf(line: Line): Sample {
  const { time, caller, client_address, subject, request_id } = line
  return { time, caller, client_address, subject, request_id, account: accountOf(line) } as Sample
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** No caller gets the decision of a replay. */
const NOBODY = { connection: undefined, listener: undefined }

/** The decision of an engine about the question of a line; or why that is unknown. */
export function answerTo(engine: Engine, line: Line): Answer | Untold {
  if (line.cut) return 'cut'
  const { api, kind = '', scope, target, asked } = line
  if (asked === 'claims') return checkClaims({ engine }, { api, kind, scope, target }, undefined)
  if (asked === 'kind') return checkKind({ engine }, { api, kind }, undefined)
  if (asked === 'credentials') return answerToCredentials(engine, line)
  if (line.kind !== undefined) return checkClaims({ engine }, { api, kind, scope, target }, undefined)
  const opensNow = (engine.apis.get(api)?.accepted.length ?? 0) > 0
  const { allowed, reason, conflicts } = line
  return opensNow ? 'own_token' : { allowed, reason, conflicts: conflicts.map((id) => ({ id })) }
}

function answerToCredentials(engine: Engine, line: Line): Answer | Untold {
  const { api, header, reason, target, form } = line
  if (reason === 'UNKNOWN_API')
    return engine.apis.has(api) ? 'api_is_new' : engine.deny(api, 'CREDENTIAL_MISSING')
  const fault = CREDENTIAL_REASONS.find((each) => each === reason)
  // The line does not have the values of the headers.
  if (header === undefined) return engine.deny(api, fault ?? 'CREDENTIAL_MISSING')
  if (!engine.apis.has(api)) return engine.deny(api, 'CREDENTIAL_MISSING')
  const kind = kindOf(line, engine)
  const own = engine.tokenKinds.get(kind ?? '')?.places ?? []
  const all = [...own, ...[...engine.tokenKinds.values()].flatMap(({ places }) => places)]
  const place = all.find((each) => placeName(each) === header)
  if (place === undefined) return 'header_is_gone'
  // The line does not have the beginning of the token. It is taken to be that of its kind.
  const prefix = (own.includes(place) && place.prefix) || ''
  let verified = true
  const recorded = {
    recognize: () => form,
    verify: () => {
      verified = form === undefined
      return verificationOf(line, kind)
    },
  }
  const services = { engine, authority: recorded, verifier: recorded }
  const question = {
    api,
    headers: [
      [place.header, fieldValue(place, `${prefix}x`)],
      ...(place.with === undefined ? [] : [[place.with, 'x'] as const]),
    ],
    target,
    clientAddress: undefined,
  } as const
  const outcome = checkCredentials(services, question, NOBODY)
  if (outcome instanceof Promise) throw new TypeError('expected an answer at once')
  return verified ? outcome.decision : 'header_is_new'
}

/**
 * Of which kind the token is under the matrix. An upstream says only what it is bound to. Its users are of no
 * type that tokens are issued to here.
 */
function kindOf({ kind, subject, scope }: Line, { tokenKinds }: Engine): string | undefined {
  return subject?.type === 'user' && scope !== undefined ? kindOfScope(scope, tokenKinds.values())?.id : kind
}

/** The answer of an authority. */
function verificationOf({ subject, scope, reason }: Line, kind: string | undefined) {
  const token =
    kind === undefined || subject === undefined || scope === undefined
      ? undefined
      : {
          ...{ kind, scope },
          subject: { id: subject.id, name: '', type: subject.type },
          ...{ tokenId: '', issuedAtMs: 0, expiresAtMs: undefined },
        }
  const fault = CREDENTIAL_REASONS.find((each) => each === reason && each !== 'WRONG_HEADER')
  if (token !== undefined && fault === undefined) return { ok: true, token } as const
  return { ok: false, reason: fault ?? 'CREDENTIAL_INVALID', ...(token && { token }) } as const
}
