/**
 * Finds the lines of a block that a query asks for. Most lines are passed over by their bytes: their time,
 * and a text that each line with the answer has in it.
 */
import { ipAddress } from '../../base/ip-address.ts'
import { escapedJson } from '../../base/visible-text.ts'
import type { DecisionQuery } from '../../usecases/decision-search.ts'
import { type Block, eachLine } from './blocks.ts'
import { short } from './line-parts.ts'
import { jsonOf, type Line, problemOf, START, unknownMemberOf } from './read-line.ts'

/** A line that a query asks for. */
export interface Found {
  readonly line: Line
  /** As it is in the log. */
  readonly text: string
  /** Where it begins in the log, in bytes. */
  readonly offset: number
}

/** The lines met on the way. */
export interface Tally {
  bytes: number
  lines: number
  /** Lines that are not a decision, or not whole. */
  damaged: number
  /** Lines that were found and are not as this version writes them. */
  foreign: number
  /** The difference in the first of these. */
  foreignProblem: string | undefined
}

export function newTally(): Tally {
  return { bytes: 0, lines: 0, damaged: 0, foreign: 0, foreignProblem: undefined }
}

const TIME_LENGTH = '2026-11-22T09:44:34.123Z'.length
const BRACE = 0x7d
const QUOTE = 0x22
const Z = 0x5a

/** Others go on behind a torn line until the worker that was killed has started again, which is soon. */
const TORN_MS = 60_000

/** A name has this many ids at most that are looked for by their bytes. */
const NEEDLES_MAX = 8

export class Matcher {
  readonly #query: DecisionQuery
  readonly #since: Buffer | undefined
  readonly #until: Buffer | undefined
  /** Likewise, with the lines that may stand behind a torn one. */
  readonly #sinceTorn: Buffer | undefined
  readonly #untilTorn: Buffer | undefined
  /** A line with the answer contains one of them; none: it may be any line. */
  readonly #needles: readonly Buffer[]

  constructor(asked: DecisionQuery) {
    // Lines have addresses in their one form.
    const query = { ...asked, address: ipAddress(asked.address) ?? asked.address }
    this.#query = query
    this.#since = timeOf(query.sinceMs)
    this.#until = timeOf(query.untilMs)
    this.#sinceTorn = timeOf(query.sinceMs, -TORN_MS)
    this.#untilTorn = timeOf(query.untilMs, TORN_MS)
    this.#needles = needlesOf(query)
  }

  /** In the order of the block. */
  find({ bytes, offset, tooLong }: Block, tally: Tally): readonly Found[] {
    const found: Found[] = []
    const places = this.#needles.map(() => -1)
    /** Where one of the texts is next. */
    let next = -1
    /** Whether the line may have the answer in it. */
    const mayHave = (start: number, end: number): boolean => {
      if (places.length === 0) return true
      if (next < start) {
        next = Number.POSITIVE_INFINITY
        for (let index = 0; index < places.length; index++) {
          if ((places[index] as number) < start) {
            const place = bytes.indexOf(this.#needles[index] as Buffer, start)
            places[index] = place < 0 ? Number.POSITIVE_INFINITY : place
          }
          next = Math.min(next, places[index] as number)
        }
      }
      return next < end
    }
    if (tooLong) tally.damaged++
    tally.bytes += bytes.length
    eachLine(bytes, (start, end) => {
      if (end === start) return
      tally.lines++
      if (isOwn(bytes, start, end) && (!this.#mayBeInTime(bytes, start, end) || !mayHave(start, end))) return
      this.#read(bytes.subarray(start, end), offset + start, tally, found)
    })
    return found
  }

  #read(bytes: Buffer, offset: number, tally: Tally, found: Found[]): void {
    const text = bytes.toString().trim()
    if (text === '') return
    const value = jsonOf(text)
    if (!isDecision(value)) {
      tally.damaged++
      // A torn line may end within a character, so it is cut where its bytes say.
      const again = bytes.lastIndexOf(START)
      if (again > 0) this.#read(bytes.subarray(again), offset + again, tally, found)
      return
    }
    if (!matches(value, this.#query)) return
    const unknown = unknownMemberOf(value)
    const problem = unknown === undefined ? problemOf(value) : `unknown member \`${unknown}\``
    if (problem !== undefined) {
      tally.foreign++
      tally.foreignProblem ??= problem
    }
    found.push({ line: value, text, offset })
  }

  #mayBeInTime(bytes: Buffer, start: number, end: number): boolean {
    const at = start + START.length
    if (isBetween(bytes, at, this.#since, this.#until)) return true
    if (!isBetween(bytes, at, this.#sinceTorn, this.#untilTorn)) return false
    const again = bytes.indexOf(START, start + 1)
    return again >= 0 && again < end
  }
}

/** Whether the line begins and ends as a sidecar writes it, with a whole time. */
function isOwn(bytes: Buffer, start: number, end: number): boolean {
  const timeEnd = start + START.length + TIME_LENGTH
  if (end <= timeEnd || bytes[timeEnd - 1] !== Z || bytes[timeEnd] !== QUOTE) return false
  if (bytes[end - 1] !== BRACE) return false
  for (let index = 0; index < START.length; index++) if (bytes[start + index] !== START[index]) return false
  return true
}

function isBetween(bytes: Buffer, at: number, since: Buffer | undefined, until: Buffer | undefined): boolean {
  if (since !== undefined && isBefore(bytes, at, since)) return false
  return until === undefined || isBefore(bytes, at, until)
}

/** Times of the same form are ordered as their texts. */
function isBefore(bytes: Buffer, at: number, time: Buffer): boolean {
  for (let index = 0; index < TIME_LENGTH; index++) {
    const difference = (bytes[at + index] as number) - (time[index] as number)
    if (difference !== 0) return difference < 0
  }
  return false
}

/** Years of four digits: their texts are ordered as the times. */
const YEARS = { first: Date.UTC(0, 0, 1), last: Date.UTC(9999, 11, 31) }

function timeOf(ms: number | undefined, laterMs = 0): Buffer | undefined {
  if (ms === undefined) return undefined
  return Buffer.from(new Date(Math.min(Math.max(ms + laterMs, YEARS.first), YEARS.last)).toISOString())
}

/** Whether it says what a search needs. A later version may say it in other words. */
function isDecision(value: unknown): value is Line {
  if (typeof value !== 'object' || value === null) return false
  const { time, api, allowed, reason } = value as Partial<Record<keyof Line, unknown>>
  return (
    typeof time === 'string' &&
    typeof api === 'string' &&
    typeof allowed === 'boolean' &&
    typeof reason === 'string'
  )
}

function matches(line: Line, query: DecisionQuery): boolean {
  const { sinceMs, untilMs, users, tokens, api, reason, allowed, account, project, requestId, address } =
    query
  if (sinceMs !== undefined || untilMs !== undefined) {
    const ms = Date.parse(line.time)
    if (!(ms >= (sinceMs ?? ms)) || !(ms < (untilMs ?? Number.POSITIVE_INFINITY))) return false
  }
  const { scope, target, subject, caller, client_address: client } = line
  return (
    (allowed === undefined || line.allowed === allowed) &&
    is(line.reason, reason) &&
    is(line.shadow, query.shadow) &&
    is(line.api, api) &&
    (tokens === undefined || (line.token !== undefined && tokens.includes(line.token))) &&
    (users === undefined || (subject !== undefined && users.includes(subject.id))) &&
    (account === undefined || [scope, target, subject].some((each) => is(each?.account, account))) &&
    (project === undefined || [scope, target].some((each) => is(each?.project, project))) &&
    (requestId === undefined || is(line.request_id, requestId) || is(line.trace_id, requestId)) &&
    (address === undefined || is(client, address) || is(caller?.address, address))
  )
}

/** Long texts of a question are cut in the log. */
function is(value: string | undefined, wanted: string | undefined): boolean {
  return wanted === undefined || value === short(wanted)
}

/** The rarest of the texts that a line must have. */
function needlesOf({
  users,
  tokens,
  requestId,
  project,
  address,
  api,
  account,
  reason,
  allowed,
  shadow,
}: DecisionQuery) {
  const one = (before: string, text: string) => [Buffer.from(`${before}${quoted(text)}`)]
  if (tokens !== undefined) return tokens.flatMap((token) => one('"token":', token))
  if (requestId !== undefined) return one('_id":', requestId)
  if (users !== undefined && users.length <= NEEDLES_MAX)
    return users.flatMap((user) => one('"subject":{"id":', user))
  if (shadow !== undefined) return one('"shadow":', shadow)
  if (address !== undefined) return one('address":', address)
  if (project !== undefined) return one('"project":', project)
  if (account !== undefined) return one('"account":', account)
  if (api !== undefined) return one('"api":', api)
  if (reason !== undefined) return one('"reason":', reason)
  return allowed === undefined ? [] : [Buffer.from(`"allowed":${allowed}`)]
}

/** As a line has it. */
function quoted(text: string): string {
  return escapedJson(JSON.stringify(short(text)))
}
