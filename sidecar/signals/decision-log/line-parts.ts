/**
 * Parts of lines that many lines have in common. Each is made once, because most of what a line costs is
 * making it.
 */
import type { Decision } from '../../../engine/index.ts'
import type { VerifiedToken } from '../../authority/authority.ts'
import { givenRequestId } from '../../base/request-id.ts'
import { traceIdOf } from '../../base/trace-context.ts'
import { escapedJson } from '../../base/visible-text.ts'
import type { AskerFacts } from '../../usecases/decision-recorder.ts'
import type { Fingerprints } from './fingerprints.ts'

/** Longest text of a question in a line, in characters. A longer one is cut, and the line says so. */
export const TEXT_LENGTH_MAX = 256

/** Most decisions that are kept. Beyond, all of them are made again. */
const DECISIONS_MAX = 8_192

const NOTHING = Buffer.alloc(0)

interface DecisionPart {
  readonly api: string
  readonly kind: string | undefined
  readonly bytes: Buffer
}

export class Parts {
  readonly #fingerprints: Fingerprints
  readonly #decisions = new Map<Decision, DecisionPart>()
  readonly #tokens = new WeakMap<VerifiedToken, Buffer>()

  constructor(fingerprints: Fingerprints) {
    this.#fingerprints = fingerprints
  }

  /** The subject of the question, and the decision. Where it is unknown, many questions share a decision. */
  ofDecision(decision: Decision, api: string, kind: string | undefined): Buffer {
    const known = this.#decisions.get(decision)
    if (known !== undefined && known.api === api && known.kind === kind) return known.bytes
    const bytes = decisionPart(decision, api, kind)
    if (isLong(api) || isLong(kind)) return bytes
    if (this.#decisions.size >= DECISIONS_MAX) this.#decisions.clear()
    this.#decisions.set(decision, { api, kind, bytes })
    return bytes
  }

  /**
   * The token and its holder, as far as they are known. An authority that remembers a token always gives
   * the same object.
   *
   * @param value the credential as it came; `undefined`: there was none
   */
  ofToken(token: VerifiedToken | undefined, value: string | undefined): Buffer {
    if (token === undefined) return value === undefined ? NOTHING : this.#fingerprintPart(value)
    let bytes = this.#tokens.get(token)
    if (bytes === undefined) {
      const { scope, subject } = token
      bytes = Buffer.concat([
        this.#fingerprintPart(value ?? ''),
        membersOf({
          subject: { id: short(subject.id), type: short(subject.type), account: short(scope.account) },
          scope: { account: short(scope.account), ...(scope.project && { project: short(scope.project) }) },
        }),
      ])
      this.#tokens.set(token, bytes)
    }
    return bytes
  }

  #fingerprintPart(value: string): Buffer {
    return membersOf({ token: this.#fingerprints.of(value) })
  }
}

/** The asker, and its protocol. */
export function askerPart({ protocol, address, name, traceparent, requestIds }: AskerFacts): Buffer {
  const traceId = traceIdOf(traceparent)
  const requestId = givenRequestId(requestIds)
  const caller = { ...(address !== undefined && { address }), ...(name !== undefined && { name }) }
  return membersOf({
    ...{ protocol, caller },
    ...(traceId !== undefined && { trace_id: traceId }),
    ...(requestId !== undefined && { request_id: requestId }),
  })
}

/** Members of an object behind others: `,"a":1,"b":2`. */
export function membersOf(members: object): Buffer {
  return Buffer.from(`,${escapedJson(JSON.stringify(members)).slice(1, -1)}`)
}

export function isLong(text: string | undefined): boolean {
  return text !== undefined && text.length > TEXT_LENGTH_MAX
}

export function short(text: string): string {
  return isLong(text) ? text.slice(0, TEXT_LENGTH_MAX) : text
}

function decisionPart(decision: Decision, api: string, kind: string | undefined): Buffer {
  const { allowed, reason, digest, strict, conflicts } = decision
  return membersOf({
    api: short(api),
    ...(kind !== undefined && { kind: short(kind) }),
    ...{ allowed, reason, matrix: digest, strict },
    conflicts: conflicts.map(({ id }) => id),
  })
}
