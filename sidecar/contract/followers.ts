/**
 * The streams of `WatchChanges`. Each follower has a place in the list of records: later records were not
 * sent to it yet. So nothing is kept for a follower that does not read; it gets all of it at once later, or
 * `everything`.
 */
import type { Changes, Position, RecentRecord } from '../authority/directory-changes.ts'
import { callError } from '../base/call-error.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { AnswerBasis } from '../usecases/answer-basis.ts'
import type { Callers, IdentifiedCaller } from '../usecases/callers.ts'
import type { CallContext, Responses } from './call.ts'
import { changesResponse, type EncodedRules, type Head, type Voided, type Wish } from './change-messages.ts'
import { callerCredentialsIn } from './handler.ts'
import type { Watches } from './watches.ts'

/** How long a follower gets no response, at most, in milliseconds. It is promised one every second. */
const QUIET_MS_MAX = 500

/** Time between two looks at who needs a response, where nothing has changed, in milliseconds. */
const LOOK_MS = 100

/**
 * Time until a follower that has been sent a part of the rules is looked at again, in milliseconds: most have
 * read it by then.
 */
const PART_MS = 10

/** The time for sending to followers before other calls have their turn, in milliseconds. */
const SLICE_MS = 2

/** How long a follower may leave a response unread, in milliseconds. It has nothing in memory long before. */
const READER_MS_MAX = 20_000

/** Most things that one response names. A follower that has missed more of them forgets everything. */
const VOIDED_MAX = 1_000

const EVERYTHING: Voided = { everything: true }

const BEGINNING = { sequence: 0, atMs: 0 }

/** A place before every record: everything is void. */
const NOWHERE = -1

interface Follower {
  readonly responses: Responses
  readonly caller: IdentifiedCaller
  readonly accounts: ReadonlySet<string>
  place: number
  /** The rules that it has. */
  rules: EncodedRules | undefined
  /** The rules that it is being sent, and how many of their parts it was sent. */
  coming: { readonly rules: EncodedRules; sent: number } | undefined
  notifiedAtMs: number
}

interface FollowersParts {
  readonly changes: Changes
  readonly callers: Callers
  readonly watches: Watches
  /** The encoded rules in force. */
  readonly rules: () => EncodedRules
  readonly basis: () => AnswerBasis
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number
  /** The time of day, in milliseconds since 1970. */
  readonly timeOfDay: () => number
}

export class Followers {
  readonly #parts: FollowersParts
  readonly #now: () => number
  readonly #all = new Set<Follower>()
  /** Those that wait for their turn in this round. */
  #round: Iterator<Follower> | undefined
  #again = false
  #stopWatching: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #partTimer: NodeJS.Timeout | undefined
  #basis: AnswerBasis

  constructor(parts: FollowersParts) {
    this.#parts = parts
    this.#now = parts.now ?? (() => performance.now())
    this.#basis = parts.basis()
    parts.callers.watch(() => this.#expectRights())
  }

  get size(): number {
    return this.#all.size
  }

  /** The caller of the call. @throws CallError unless it has the right to follow */
  expect(context: CallContext, reachable: boolean): IdentifiedCaller {
    const caller = this.#parts.callers.find(callerCredentialsIn(context, reachable))
    if (caller === undefined) throw callError('CALLER_TOKEN_MISSING', { action: ACTION })
    return expectRight(caller)
  }

  /**
   * A follower with changes that this directory does not have gets nothing: those changes are lost here.
   * Nor does any while the directory does not answer: another sidecar may know more.
   *
   * @throws CallError `WATCHES_EXHAUSTED`, and where the directory cannot be asked
   */
  open(context: CallContext, caller: IdentifiedCaller, responses: Responses, wish: Wish): void {
    this.#parts.watches.open(context, responses)
    let isOver = false
    responses.onEnd(() => {
      isOver = true
    })
    const outage = this.#parts.changes.outage()
    if (outage !== undefined) throw outage
    const begun = andThen(this.expectToHave(wish.after), () => {
      if (!isOver) this.#begin(caller, responses, wish)
    })
    if (begun instanceof Promise) begun.catch((error: unknown) => responses.fail(error))
  }

  /** @throws CallError `DIRECTORY_CHANGES_LOST` unless the directory has the changes of a follower */
  expectToHave(position: Position | undefined): MaybePromise<void> {
    // Before the first change there is nothing to lose.
    const has = position === undefined || position.sequence === 0 || this.#parts.changes.has(position)
    return andThen(has, (found) => {
      if (!found) throw callError('DIRECTORY_CHANGES_LOST', {})
    })
  }

  #begin(caller: IdentifiedCaller, responses: Responses, { accounts, after, basis }: Wish): void {
    const { changes } = this.#parts
    this.#readBasis()
    if (this.#all.size === 0) {
      this.#stopWatching = changes.watch(() => this.#tell())
      this.#timer = setInterval(() => this.#tell(), LOOK_MS).unref()
    }
    // A key may have been withdrawn, too, while nothing was followed.
    const goesOn = after !== undefined && basis === this.#basis.name
    const place = goesOn ? changes.followed?.records.placeAfter(after) : undefined
    const follower: Follower = {
      ...{ responses, caller, accounts, place: place ?? NOWHERE },
      ...{ rules: undefined, coming: undefined },
      notifiedAtMs: Number.NEGATIVE_INFINITY,
    }
    this.#all.add(follower)
    responses.onEnd(() => this.#left(follower))
    this.#tellOne(follower, this.#head(), new Map())
  }

  rulesChanged(): void {
    this.#tell()
  }

  /** Ends all streams. */
  end(): void {
    this.#parts.watches.end()
  }

  #left(follower: Follower): void {
    this.#all.delete(follower)
    if (this.#all.size > 0) return
    this.#stopWatching?.()
    clearInterval(this.#timer)
    clearTimeout(this.#partTimer)
    this.#partTimer = undefined
  }

  /** With another key or another rule for a kind, earlier answers about tokens may no longer hold. */
  #readBasis(): void {
    const before = this.#basis
    this.#basis = this.#parts.basis()
    const { name, trusted, kinds } = this.#basis
    if (name === before.name) return
    const isWithdrawn = before.trusted.some((each) => !trusted.includes(each))
    if (isWithdrawn || kinds !== before.kinds) for (const follower of this.#all) follower.place = NOWHERE
  }

  #expectRights(): void {
    for (const follower of [...this.#all]) this.#hasRight(follower)
  }

  #hasRight({ caller, responses }: Follower): boolean {
    try {
      expectRight(this.#parts.callers.confirm(caller))
      return true
    } catch (error) {
      responses.fail(error)
      return false
    }
  }

  /** Tells all who need it. During a round, a further one begins after it. */
  #tell(): void {
    this.#again = true
    if (this.#round === undefined) this.#tellSome()
  }

  #tellSome(): void {
    const head = this.#head()
    const outage = this.#parts.changes.outage()
    const endsMs = this.#now() + SLICE_MS
    const bodies = new Map<number, Buffer>()
    if (this.#round === undefined) this.#again = false
    this.#round ??= this.#all.values()
    for (let next = this.#round.next(); !next.done; next = this.#round.next()) {
      const { value: follower } = next
      try {
        if (outage !== undefined) throw outage
        this.#tellOne(follower, head, bodies)
      } catch (error) {
        // The round goes on with the others.
        follower.responses.fail(error)
      }
      if (this.#now() > endsMs) return void setImmediate(() => this.#tellSome())
    }
    this.#round = undefined
    if (this.#again) setImmediate(() => this.#round ?? this.#tellSome())
  }

  #head(): Head {
    const { changes, timeOfDay } = this.#parts
    // The clock is read first: a promised time must not begin later than stated.
    const times = { sentAtMs: this.#now(), timeOfDayMs: timeOfDay() }
    this.#readBasis()
    const basis = this.#basis.name
    const validForMs = changes.knownForMs() ?? 0
    const { position, records } = changes.followed ?? {}
    // A list that may be incomplete must not let a follower go on.
    if (validForMs === 0 || position === undefined || records === undefined)
      return { ...times, validForMs: 0, position: position ?? BEGINNING, basis, end: NOWHERE }
    return { ...times, validForMs, position, basis, end: records.end }
  }

  #tellOne(follower: Follower, head: Head, bodies: Map<number, Buffer>): void {
    const { responses, place } = follower
    const nowMs = head.sentAtMs
    const inForce = this.#parts.rules()
    // Rules that have begun are sent to their end: the follower joins all parts.
    if (follower.rules !== inForce) follower.coming ??= { rules: inForce, sent: 0 }
    const { coming } = follower
    // Without knowledge of the changes there is no word of them, and none that lets a follower go on.
    const isNews =
      head.end !== NOWHERE && (place !== head.end || nowMs - follower.notifiedAtMs >= QUIET_MS_MAX)
    if (coming === undefined && !isNews) return
    if (responses.unread) {
      if (nowMs - follower.notifiedAtMs >= READER_MS_MAX)
        responses.fail(callError('WATCHES_EXHAUSTED', { whose: 'clients that do not read' }))
      return
    }
    if (!this.#hasRight(follower)) return
    const endsParts = coming !== undefined && coming.sent === coming.rules.parts.length
    if (isNews || endsParts) {
      const rules = endsParts ? coming.rules : undefined
      responses.write(this.#response(follower, head, rules, bodies))
      Object.assign(follower, { place: head.end, notifiedAtMs: nowMs })
      if (endsParts) Object.assign(follower, { rules, coming: undefined })
    } else if (coming !== undefined) responses.write(coming.rules.parts[coming.sent++] as Buffer)
    if (follower.coming !== undefined) this.#lookSoon()
  }

  /** @param rules that it has with this response; `undefined`: the response has none */
  #response(
    { accounts, place, coming }: Follower,
    head: Head,
    rules: EncodedRules | undefined,
    bodies: Map<number, Buffer>,
  ): Buffer {
    const goesOn = coming === undefined || rules === this.#parts.rules()
    const make = () =>
      changesResponse(
        head,
        rules?.last,
        this.#voidedSince(head.end === NOWHERE ? NOWHERE : place, accounts),
        goesOn,
      )
    // Few name accounts, and few are still being sent rules that others have replaced.
    if (accounts.size > 0 || (rules !== undefined && !goesOn)) return make()
    // The rules may be long: those who come at the same time share them, too.
    const key = 3 * place + (rules === undefined ? (goesOn ? 0 : 1) : 2)
    const response = bodies.get(key) ?? make()
    bodies.set(key, response)
    return response
  }

  /** Parts follow each other as soon as they are read, and not once in every look. */
  #lookSoon(): void {
    this.#partTimer ??= setTimeout(() => {
      this.#partTimer = undefined
      this.#tell()
    }, PART_MS).unref()
  }

  #voidedSince(place: number, accounts: ReadonlySet<string>): Voided | undefined {
    const records = place === NOWHERE ? undefined : this.#parts.changes.followed?.records.from(place)
    return records === undefined ? EVERYTHING : voidedBy(records, accounts)
  }
}

const ACTION = 'following what changes'

function expectRight(caller: IdentifiedCaller): IdentifiedCaller {
  const { name, rights } = caller
  if (rights.everything || rights.follow) return caller
  throw callError('CALLER_RIGHT_MISSING', { caller: name, action: 'follow what changes', right: 'follow' })
}

function concerns({ account }: RecentRecord, accounts: ReadonlySet<string>): boolean {
  return account === '' || accounts.has(account)
}

/** @param accounts empty: all @returns `undefined`: nothing */
function voidedBy(records: readonly RecentRecord[], accounts: ReadonlySet<string>): Voided | undefined {
  const voided = {
    token: new Set<string>(),
    user: new Set<string>(),
    account: new Set<string>(),
    project: new Set<string>(),
  }
  let count = 0
  for (const record of records) {
    const { touched } = record
    if (accounts.size > 0 && !concerns(record, accounts)) continue
    // The rules show a change of the matrix.
    if (touched === 'nothing' || touched?.thing === 'matrix') continue
    if (touched === undefined || ++count > VOIDED_MAX) return EVERYTHING
    voided[touched.thing].add(touched.id)
  }
  return count === 0 ? undefined : { everything: false, ...voided }
}
