/** Reads and encodes the messages of `WatchChanges`. */
import type { Engine, Reason, Steps } from '../../engine/index.ts'
import * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import type { DescribedToken } from '../authority/authority.ts'
import type { Position, TrueOf } from '../authority/directory-changes.ts'
import type { KeptMatrix } from '../authority/promoted-matrices.ts'
import { type FieldViolation, invalidArgument } from '../base/call-error.ts'
import { Secret } from '../base/secret.ts'
import { isTimeMs, TIME_RANGE } from '../base/written-time.ts'
import { DESCRIBE_TOKENS_RESPONSE, DESCRIBED_TOKEN, RULES, WATCH_CHANGES_RESPONSE } from './field-numbers.ts'
import { FieldWriter } from './field-writer.ts'
import { decoded } from './handler.ts'
import { matrixHead, noteMessages } from './matrix-messages.ts'
import { encode, reasonMessage, writePosition, writeTime, writeToken } from './responses.ts'

/** The wish of a follower. */
export interface Wish {
  /** Numbers of accounts; empty: all. */
  readonly accounts: ReadonlySet<string>
  /** The position that it knows from an earlier stream. */
  readonly after: Position | undefined
  /** The basis of the answers then; empty: it does not know. */
  readonly basis: string
}

/** The facts in a response about its own moment. */
export interface Head {
  /** On the monotonic clock. */
  readonly sentAtMs: number
  readonly timeOfDayMs: number
  readonly validForMs: number
  readonly position: Position
  /** Names what answers rest on besides the directory. */
  readonly basis: string
  /** The place after the last record; below 0: it is not known whether one is missing. */
  readonly end: number
}

/** The answers that are void. */
export type Voided =
  | { readonly everything: true }
  | {
      readonly everything: false
      readonly token: ReadonlySet<string>
      readonly user: ReadonlySet<string>
      readonly account: ReadonlySet<string>
      readonly project: ReadonlySet<string>
    }

const NO_BYTES = Buffer.alloc(0)
const WRITER = new FieldWriter()

/** Rows that are encoded at a time. */
const ROWS_A_STEP = 100

/** Most bytes of one part of the rules: a program that gets one reads it in a few milliseconds. */
const PART_BYTES_MAX = 131_072

/** Most tokens of one request. */
const TOKENS_MAX = 1_000

/** Most accounts that a follower may name. */
const ACCOUNTS_MAX = 1_000

/** @throws CallError if the request does not follow the contract */
export function readWatchChangesRequest(bytes: Uint8Array): Wish {
  const { accounts, after } = decoded(bytes, wire.WatchChangesRequest.decode)
  if (accounts.length > ACCOUNTS_MAX || accounts.includes(''))
    throw invalidArgument({ field: 'accounts', expected: `at most ${ACCOUNTS_MAX} account numbers` })
  return { accounts: new Set(accounts), basis: after?.basis ?? '', after: positionIn(after) }
}

/** @throws CallError if no directory has such a position */
function positionIn(position: wire.Position | undefined): Position | undefined {
  if (position === undefined) return undefined
  const { change, recordedAt } = position
  const atMs = recordedAt?.getTime() ?? 0
  const violations: FieldViolation[] = []
  if (change < 0) violations.push({ field: 'after.change', expected: 'a number of 0 or more' })
  if (!isTimeMs(atMs)) violations.push({ field: 'after.recorded_at', expected: `a time ${TIME_RANGE}` })
  if (violations.length > 0) throw invalidArgument(...violations)
  return { sequence: change, atMs }
}

/** @throws CallError if the request does not follow the contract */
export function readDescribeTokensRequest(bytes: Uint8Array): {
  readonly tokens: readonly Secret[]
  /** The position that the follower received. */
  readonly after: Position | undefined
} {
  const { tokens, after } = decoded(bytes, wire.DescribeTokensRequest.decode)
  if (tokens.length > TOKENS_MAX)
    throw invalidArgument({ field: 'tokens', expected: `at most ${TOKENS_MAX} tokens` })
  return { tokens: tokens.map((value) => new Secret(value)), after: positionIn(after) }
}

export function describeTokensResponse(
  tokens: readonly (DescribedToken | undefined)[],
  { position, basis }: TrueOf,
): Buffer {
  WRITER.start(NO_BYTES)
  for (const found of tokens) {
    const message = WRITER.begin(DESCRIBE_TOKENS_RESPONSE.tokens)
    if (found !== undefined) {
      writeToken(WRITER, DESCRIBED_TOKEN.token, found.token)
      WRITER.flag(DESCRIBED_TOKEN.active, found.status.active)
      for (const range of found.status.addresses) WRITER.text(DESCRIBED_TOKEN.addresses, range)
    }
    WRITER.end(message)
  }
  const countsOnce = tokens.some((found) => found?.token.countsOnce === true)
  if (position !== undefined && !countsOnce)
    writePosition(WRITER, DESCRIBE_TOKENS_RESPONSE.position, position, basis)
  return WRITER.finish()
}

/** The `Rules` of an engine, encoded once for all followers. */
export interface EncodedRules {
  /** Whole responses with a part each, where the rules are too long for one. */
  readonly parts: readonly Buffer[]
  /** The `Rules` that follow them, or all of them. */
  readonly last: Buffer
}

/** @param routes as `encodedRoutes` has them */
export function* rulesInSteps(engine: Engine, routes: readonly Buffer[]): Steps<EncodedRules> {
  const pieces = routes.map((some) => field(RULES.routes, some))
  const indexes = new Map<readonly Reason[], number>()
  const kinds = ['', ...engine.tokenKinds.keys()]
  const apis = ['', ...engine.apis.keys()]
  for (let at = 0; at < apis.length; at += ROWS_A_STEP) {
    const rows = apis.slice(at, at + ROWS_A_STEP).map((api) => {
      const cells = kinds.map((kind) => {
        const reasons = engine.reasons(api, kind)
        const index = indexes.get(reasons) ?? indexes.size
        indexes.set(reasons, index)
        return index
      })
      return { api, cells, notes: noteMessages(engine.apis.get(api) ?? NO_NOTES) }
    })
    pieces.push(encode(wire.Rules, { ...EMPTY_RULES, apis: rows }))
    yield
  }
  const parts: Buffer[] = []
  let last: Buffer = NO_BYTES
  for (const part of joined(pieces)) {
    if (last.length > 0) parts.push(field(WATCH_CHANGES_RESPONSE.rulesPart, last))
    last = part
    yield
  }
  const cells = Array.from(indexes.keys(), (reasons) =>
    field(RULES.cells, encode(wire.CellReasons, { reasons: reasons.map(reasonMessage) })),
  )
  return { parts, last: Buffer.concat([last, field(RULES.matrix, matrixHead(engine)), ...cells]) }
}

const EMPTY_RULES: wire.Rules = {
  ...{ matrix: undefined, cells: [], apis: [], routes: undefined },
}

const NO_NOTES = { notes: {} }

/** Joins neighbours, as long as they have at most the bytes of a part together. */
export function* joined(pieces: Iterable<Buffer>): Generator<Buffer> {
  let some: Buffer[] = []
  let bytes = 0
  for (const piece of pieces) {
    if (bytes > 0 && bytes + piece.length > PART_BYTES_MAX) {
      yield Buffer.concat(some)
      some = []
      bytes = 0
    }
    some.push(piece)
    bytes += piece.length
  }
  if (bytes > 0) yield Buffer.concat(some)
}

function field(number: number, message: Buffer): Buffer {
  WRITER.start(NO_BYTES)
  WRITER.bytes(number, message)
  return WRITER.finish()
}

export function promotedMatrixResponse(kept: KeptMatrix | undefined): Buffer {
  return encode(wire.GetPromotedMatrixResponse, kept ?? { digest: '', content: NO_BYTES })
}

/**
 * @param rules that end the parts, or all of them; `undefined`: none
 * @param voided `undefined`: nothing
 * @param goesOn whether the follower has the rules in force, and may answer by them
 */
export function changesResponse(
  { position, validForMs, sentAtMs, timeOfDayMs, basis }: Head,
  rules: Buffer | undefined,
  voided: Voided | undefined,
  goesOn: boolean,
): Buffer {
  WRITER.start(NO_BYTES)
  writePosition(WRITER, WATCH_CHANGES_RESPONSE.position, position, basis)
  if (rules !== undefined) WRITER.bytes(WATCH_CHANGES_RESPONSE.rules, rules)
  if (voided !== undefined)
    WRITER.bytes(
      WATCH_CHANGES_RESPONSE.voided,
      Buffer.from(wire.Voided.encode(voidedMessage(voided)).finish()),
    )
  if (goesOn) writeTime(WRITER, WATCH_CHANGES_RESPONSE.validFor, validForMs)
  writeTime(WRITER, WATCH_CHANGES_RESPONSE.sentAt, sentAtMs)
  writeTime(WRITER, WATCH_CHANGES_RESPONSE.timeOfDay, timeOfDayMs)
  return WRITER.finish()
}

function voidedMessage(voided: Voided): wire.Voided {
  if (voided.everything) return { everything: true, tokenIds: [], userIds: [], accounts: [], projectIds: [] }
  return {
    everything: false,
    tokenIds: [...voided.token],
    userIds: [...voided.user],
    accounts: [...voided.account],
    projectIds: [...voided.project],
  }
}
