/**
 * Finds or counts the lines of a block that a query asks for. Most lines are passed over by their bytes:
 * their time, and a text that each line with the answer has in it. A count parses no line of a sidecar.
 */
import { ipAddress } from '../../base/ip-address.ts'
import { escapedJson } from '../../base/visible-text.ts'
import type { DecisionQuery } from '../../usecases/decision-search.ts'
import { type Block, eachLine, Places } from './blocks.ts'
import type { Counts } from './counts.ts'
import { short } from './line-parts.ts'
import { isOwn, isWithin, LineTimes, START } from './line-times.ts'
import { jsonOf, type Line, problemOf, unknownMemberOf } from './read-line.ts'

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
  lines: number
  /** Lines that are not a decision, or not whole. */
  damaged: number
  /** Lines that were found and are not as this version writes them. */
  foreign: number
  /** The difference in the first of these. */
  foreignProblem: string | undefined
}

export function newTally(): Tally {
  return { lines: 0, damaged: 0, foreign: 0, foreignProblem: undefined }
}

/** A member has this many texts at most that are looked for by their bytes: ids of a name, for example. */
const TEXTS_MAX = 8

export class Matcher {
  readonly #query: DecisionQuery
  readonly #times: LineTimes
  /** How many texts each condition has of which a line with the answer has one in it; the rarest first. */
  readonly #conditions: readonly number[]
  /** These texts. */
  readonly #texts: readonly Buffer[]
  /** Whether a line in the form of a sidecar has the answer where it has these texts. */
  readonly #isExact: boolean

  constructor(asked: DecisionQuery) {
    // Lines have addresses in their one form.
    const query = { ...asked, address: ipAddress(asked.address) ?? asked.address }
    this.#query = query
    this.#times = new LineTimes(query)
    const conditions = conditionsOf(query)
    const few = conditions.filter(({ length }) => length <= TEXTS_MAX)
    this.#conditions = few.map(({ length }) => length)
    this.#texts = few.flat().map((text) => Buffer.from(text))
    this.#isExact = few.length === conditions.length
  }

  /** In the order of the block. */
  find(block: Block, tally: Tally): readonly Found[] {
    const { bytes } = block
    const found: Found[] = []
    const places = new Places(bytes, this.#texts)
    this.#eachLine(block, tally, (start, end) => {
      if (
        isOwn(bytes, start, end) &&
        !(this.#times.mayHave(bytes, start, end) && this.#meets(places, start, end, 1))
      )
        return
      this.#read(bytes.subarray(start, end), block.offset + start, tally, (each) => void found.push(each))
    })
    return found
  }

  /** Counts a line in the form of a sidecar by its bytes, so damage within it is not noticed. */
  count(block: Block, tally: Tally, counts: Counts): void {
    const { bytes } = block
    const places = new Places(bytes, this.#texts)
    const signs = new Places(bytes, SIGNS)
    const add = counts.ofBlock(bytes)
    this.#eachLine(block, tally, (start, end) => {
      if (isOwn(bytes, start, end)) {
        if (!this.#times.mayHave(bytes, start, end)) return
        const isWhole = signs.of(0, start + 1, end) < 0 && signs.of(1, start, end) >= 0
        if (isWhole && this.#isExact)
          return this.#meets(places, start, end, this.#conditions.length) ? add(start, end) : undefined
        if (!this.#meets(places, start, end, 1)) return
      }
      this.#read(bytes.subarray(start, end), block.offset + start, tally, ({ line }) => counts.add(line))
    })
  }

  #eachLine({ bytes, tooLong }: Block, tally: Tally, each: (start: number, end: number) => void): void {
    if (tooLong) tally.damaged++
    eachLine(bytes, (start, end) => {
      if (end === start) return
      tally.lines++
      each(start, end)
    })
  }

  /** Whether a line has the texts of the first conditions in it. */
  #meets(places: Places, start: number, end: number, conditions: number): boolean {
    let index = 0
    for (let each = 0; each < Math.min(conditions, this.#conditions.length); each++) {
      const behind = index + (this.#conditions[each] as number)
      while (index < behind && places.of(index, start, end) < 0) index++
      if (index === behind) return false
      index = behind
    }
    return true
  }

  #read(bytes: Buffer, offset: number, tally: Tally, onFound: (found: Found) => void): void {
    const text = bytes.toString().trim()
    if (text === '') return
    const value = jsonOf(text)
    if (!isDecision(value)) {
      tally.damaged++
      // A torn line may end within a character, so it is cut where its bytes say.
      const again = bytes.lastIndexOf(START)
      if (again > 0) this.#read(bytes.subarray(again), offset + again, tally, onFound)
      return
    }
    if (!matches(value, this.#query)) return
    const unknown = unknownMemberOf(value)
    const problem = unknown === undefined ? problemOf(value) : `unknown member \`${unknown}\``
    if (problem !== undefined) {
      tally.foreign++
      tally.foreignProblem ??= problem
    }
    onFound({ line: value, text, offset })
  }
}

/** A torn line has the first one within it, and each decision the second one. */
const SIGNS = [START, Buffer.from('"api":"')]

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
  const { users, tokens, api, reason, allowed, account, project, requestId, address } = query
  if (!isWithin(query, line.time)) return false
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

/**
 * The texts of which a line with the answer has one, for each member that is asked about: those of the rarest
 * first. In lines in the form of a sidecar no other member has them.
 */
function conditionsOf({
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
}: DecisionQuery): readonly (readonly string[])[] {
  const text = (before: string, value: string | undefined) =>
    value === undefined ? [] : [[`${before}${quoted(value)}`]]
  return [
    ...(tokens === undefined ? [] : [tokens.map((token) => `"token":${quoted(token)}`)]),
    ...text('_id":', requestId),
    ...(users === undefined ? [] : [users.map((user) => `"subject":{"id":${quoted(user)}`)]),
    ...text('"shadow":', shadow),
    ...text('address":', address),
    ...text('"project":', project),
    ...text('"account":', account),
    ...text('"api":', api),
    ...text('"reason":', reason),
    ...(allowed === undefined ? [] : [[`"allowed":${allowed}`]]),
  ]
}

/** As a line has it. */
function quoted(text: string): string {
  return escapedJson(JSON.stringify(short(text)))
}
