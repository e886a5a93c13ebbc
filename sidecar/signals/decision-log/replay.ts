/**
 * What another matrix would have decided: each line of a decision log is asked again. What authorities said
 * of a credential stays as it was, and so does which headers a request had.
 */
import type { Engine } from '../../../engine/index.ts'
import { CREDENTIAL_REASONS } from '../../../engine/index.ts'
import { checkClaims, checkCredentials, checkKind } from '../../usecases/check.ts'
import type { Line } from './read-line.ts'

/**
 * `opened`: denied before, allowed now. `reason`: denied as before, for another reason. `conflicts`: as
 * before, with other conflicts.
 */
type ChangeType = 'opened' | 'closed' | 'reason' | 'conflicts'

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
}

/** Why it is unknown what the other matrix would decide about a line. */
export const UNTOLD = {
  api_is_new: 'the API was unknown, so the credential was not checked',
  header_is_new: 'the log does not say whether the credential is valid in that header',
  header_is_gone: 'the matrix has no such header for credentials',
  own_token: 'no token opened the API, and now some would',
  cut: 'the line contains only the beginning of a text',
} as const

export type Untold = keyof typeof UNTOLD

/** Maximum number of different changes that are listed. Further ones are counted. */
const CHANGES_MAX = 10_000

const ORDER: readonly ChangeType[] = ['opened', 'closed', 'reason', 'conflicts']

/** What is compared. */
interface Answer extends Pick<Line, 'allowed' | 'reason'> {
  readonly conflicts: readonly { readonly id: string }[]
}

export class Replay {
  readonly #engineFor: (strict: boolean) => Engine
  readonly #changes = new Map<string, Change>()
  decisions = 0
  changed = 0
  /** Changed decisions beyond those that are listed. */
  further = 0
  readonly untold = new Map<Untold, number>()

  /** @param engineFor the engine in place of one in that mode */
  constructor(engineFor: (strict: boolean) => Engine) {
    this.#engineFor = engineFor
  }

  add(line: Line): void {
    this.decisions++
    const answer = answerTo(this.#engineFor(line.strict), line)
    if (typeof answer === 'string') this.untold.set(answer, (this.untold.get(answer) ?? 0) + 1)
    else this.#compare(line, answer)
  }

  /** Opened cells first. */
  get changes(): readonly Change[] {
    return [...this.#changes.values()].sort(
      (a, b) =>
        ORDER.indexOf(a.type) - ORDER.indexOf(b.type) ||
        b.decisions - a.decisions ||
        compare(a.api, b.api) ||
        compare(a.kind ?? '', b.kind ?? '') ||
        compare(a.before, b.before),
    )
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
    const known = this.#changes.get(key)
    if (known !== undefined) known.decisions++
    else if (this.#changes.size >= CHANGES_MAX) this.further++
    else {
      const { api, kind, reason: before } = line
      const both = { conflictsBefore, conflictsAfter }
      this.#changes.set(key, { type, api, kind, before, after: reason, ...both, decisions: 1 })
    }
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** A replay is no decision that somebody gets. */
const NOBODY = { connection: undefined, listener: undefined }

function answerTo(engine: Engine, line: Line): Answer | Untold {
  if (line.cut) return 'cut'
  const { api, kind = '', scope, target, asked } = line
  if (asked === 'claims') return checkClaims({ engine }, { api, kind, scope, target }, undefined)
  if (asked === 'kind') return checkKind({ engine }, { api, kind }, undefined)
  if (asked === 'credentials') return answerToCredentials(engine, line)
  if (line.kind !== undefined) return checkClaims({ engine }, { api, kind, scope, target }, undefined)
  const opensNow = (engine.apis.get(api)?.accepted.length ?? 0) > 0
  return opensNow ? 'own_token' : { ...line, conflicts: line.conflicts.map((id) => ({ id })) }
}

function answerToCredentials(engine: Engine, line: Line): Answer | Untold {
  const { api, header, reason, target, form } = line
  if (reason === 'UNKNOWN_API')
    return engine.apis.has(api) ? 'api_is_new' : engine.deny(api, 'CREDENTIAL_MISSING')
  const fault = CREDENTIAL_REASONS.find((each) => each === reason)
  // Which of the headers had what is not in the line.
  if (header === undefined) return engine.deny(api, fault ?? 'CREDENTIAL_MISSING')
  if (!engine.apis.has(api)) return engine.deny(api, 'CREDENTIAL_MISSING')
  const names = Array.from(engine.tokenKinds.values(), (kind) => kind.header.toLowerCase())
  if (!names.includes(header)) return 'header_is_gone'
  let verified = true
  const recorded = {
    recognize: () => form,
    verify: () => {
      verified = form === undefined
      return verificationOf(line)
    },
  }
  const services = { engine, authority: recorded, verifier: recorded }
  const question = { api, headers: [[header, 'x']], target, clientAddress: undefined } as const
  const outcome = checkCredentials(services, question, NOBODY)
  if (outcome instanceof Promise) throw new TypeError('expected an answer at once')
  return verified ? outcome.decision : 'header_is_new'
}

/** What an authority said. */
function verificationOf({ kind, subject, scope, reason }: Line) {
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
