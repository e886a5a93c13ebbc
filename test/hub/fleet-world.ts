/**
 * A directory, two hubs that follow it, and a sidecar that follows one of them, under one seed: responses and
 * answers are late, responses are doubled and exchanged, streams are lost, hubs are cut off, keys are
 * withdrawn, backups are restored, clocks run apart. The streams, what the follower believes and what it
 * remembers are the real ones; time, the network and the directory are not. Whatever the follower allows is
 * compared with what the directory said.
 */
import { compile, type TokenKind } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import type { Verification } from '../../sidecar/authority/authority.ts'
import { HubAuthority } from '../../sidecar/authority/hub/hub-authority.ts'
import { HubChanges, WrongHub } from '../../sidecar/authority/hub/hub-changes.ts'
import {
  type Described,
  readHubResponse,
  watchChangesRequest,
} from '../../sidecar/authority/hub/hub-messages.ts'
import { readWatchChangesRequest } from '../../sidecar/contract/change-messages.ts'
import type { Followers } from '../../sidecar/contract/followers.ts'
import { RecentRecords } from '../../sidecar/directory/feed/recent-records.ts'
import type { Position, Touched, TouchedThing } from '../../sidecar/directory/feed/touches.ts'
import { basisOf } from '../../sidecar/usecases/answer-basis.ts'
import { followersOf } from '../support/contract/followers.ts'
import { Reader } from '../support/contract/reader.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { described, isInForce, type State, settled, type Token, WALL_MS } from './fleet-tokens.ts'
import type { FleetTrace } from './fleet-trace.ts'

/** The staleness bound of the hubs, in milliseconds. That of the follower is longer, and must not matter. */
const BOUND_MS = 1_000
/** How much faster or slower the clock of the follower runs, and what that makes of the bound. */
const DRIFT_MAX = 0.001
const TOKENS = 16
/** Most things that have ended at the same time. */
const ENDED_MAX = 3

const KINDS: ReadonlyMap<string, TokenKind> = compile(supportMatrix).tokenKinds

interface Record extends Position {
  readonly touched: Touched
}

interface Hub {
  readonly followers: Followers
  readonly open: ReturnType<typeof followersOf>['open']
  readonly changes: {
    followed: { position: Position; records: RecentRecords }
    knownForMs(): number | undefined
  }
  readonly tell: () => void
  /** What it has read of the directory last, and when. */
  readonly read: { state: State; readAtMs: number }
  /** What the last reading has read. */
  history: number
  cutOffUntilMs: number
}

/** A stream that the follower reads. */
interface Stream {
  readonly hub: Hub
  readonly reader: Reader<Buffer>
  isHeard: boolean
  isOver: boolean
}

export class FleetWorld {
  readonly found = { allowed: 0, denied: 0, unanswered: 0, asked: 0, changes: 0, streams: 0, wrongHubs: 0 }
  readonly #trace: FleetTrace | undefined
  readonly #random: () => number
  readonly #tokens: Token[]
  readonly #hubs: readonly Hub[]
  readonly #changes: HubChanges
  readonly #authority: HubAuthority
  /** What happens later, in order. */
  #later: { readonly atMs: number; readonly run: () => void }[] = []
  #nowMs = 10_000
  #drift: number
  #state: State = { ended: new Set(), keys: new Set(['k1', 'k2']) }
  #backup: State = this.#state
  #records: Record[] = []
  #history = 0
  #atMs = 1_000
  #position: Position = { sequence: 0, atMs: 1_000 }
  #stream: Stream | undefined
  /** Until then nothing of the stream arrives. */
  #stalledUntilMs = 0
  /** The hub that is asked: the one whose stream was heard last. */
  #asked: Hub | undefined
  #next = 0
  /** Nothing goes wrong any more, so that all must agree in the end. */
  #isCalm = false

  /** @param trace is told of what happens to one token; the clocks run alike then */
  constructor(seed: number, trace?: FleetTrace) {
    this.#trace = trace
    this.#random = randomFrom(seed)
    this.#drift = 1 + (2 * this.#random() - 1) * (trace === undefined ? DRIFT_MAX : 0)
    this.#tokens = Array.from({ length: TOKENS }, (_, index) => ({
      value: `eyJ${'a'.repeat(40)}.${'b'.repeat(40)}.${String(index).padStart(86, '0')}`,
      ...{ id: `t${index}`, user: `u${index % 5}`, account: `a${index % 3}`, project: `p${index % 4}` },
      ...{ key: `k${1 + (index % 2)}`, first: index % 4 === 3 ? `t${index - 1}` : undefined },
      ...{ inForceMs: this.#nowMs, genuineMs: this.#nowMs },
    }))
    this.#hubs = [this.#newHub(), this.#newHub()]
    trace?.begin(this.#tokens[0] as Token, this.#position, () => this.#nowMs)
    this.#changes = new HubChanges({ stalenessMs: 10 * BOUND_MS, now: () => this.#nowMs * this.#drift })
    this.#authority = new HubAuthority({
      changes: this.#changes,
      tokens: { describe: (value: string) => this.#describe(value) } as never,
      rememberedMax: 1_000,
      issue: () => Promise.reject(new Error('nothing is issued here')),
      now: () => WALL_MS + this.#nowMs,
      monotonic: () => this.#nowMs,
    })
  }

  /** @throws Error where something is allowed that must not be */
  async run(steps: number) {
    this.#connect()
    for (let step = 0; step < steps; step++) {
      this.#nowMs += this.#random() * 30
      await this.#happen()
      await this.#act()
      if (this.#wrong !== undefined) throw this.#wrong
    }
    await this.#comeToRest()
    for (const { followers } of this.#hubs) followers.end()
    return this.found
  }

  async #act(): Promise<void> {
    const dice = this.#random() * 100
    if (dice < 40) return this.#check(this.#any(this.#tokens))
    if (dice < 70) return this.#read(this.#any(this.#hubs))
    if (dice < 85) return this.#any(this.#hubs).tell()
    if (dice < 95) return this.#change()
    if (dice < 96) return this.#lose()
    if (dice < 97) this.#any(this.#hubs).cutOffUntilMs = this.#nowMs + this.#random() * 4 * BOUND_MS
    else if (dice < 97.3) this.#setKeys()
    else if (dice < 97.6) this.#restore()
    else if (dice < 97.8) this.#backup = this.#state
    // Otherwise time goes on.
    else this.#nowMs += this.#random() * BOUND_MS
  }

  // The directory.

  #now(state: State): void {
    for (const token of this.#tokens) this.#note(token)
    this.#state = state
    this.found.changes++
  }

  #note(token: Token): void {
    if (isInForce(token, this.#state)) token.inForceMs = this.#nowMs
    if (this.#state.keys.has(token.key)) token.genuineMs = this.#nowMs
  }

  /** Something ends, or something that has ended begins again: most of the time, most is in force. */
  #change(): void {
    const { id, user, account, project } = this.#any(this.#tokens)
    const ended = new Set(this.#state.ended)
    const things = [`token ${id}`, `user ${user}`, `account ${account}`, `project ${project}`]
    const changed = this.#any(ended.size < ENDED_MAX ? things : [...ended])
    if (!ended.delete(changed)) ended.add(changed)
    this.#now({ ...this.#state, ended })
    const [thing, name = ''] = changed.split(' ') as [TouchedThing, string]
    this.#record(this.#random() < 0.02 ? undefined : { thing, id: name })
  }

  #record(touched: Touched): void {
    this.#position = { sequence: this.#position.sequence + 1, atMs: ++this.#atMs }
    this.#records.push({ ...this.#position, touched })
    this.#trace?.change(this.#position, touched, this.#state)
  }

  #setKeys(): void {
    const keys = new Set(this.#state.keys)
    if (keys.size < 2) for (const key of ['k1', 'k2']) keys.add(key)
    else keys.delete(this.#any(['k1', 'k2']))
    this.#now({ ...this.#state, keys })
    this.#trace?.setKeys(keys)
  }

  /** The changes since the backup are gone, and others take their numbers. */
  #restore(): void {
    const back = Math.floor(this.#random() * 20)
    this.#now({ ...this.#backup, keys: this.#state.keys })
    this.#history++
    this.#records = []
    this.#position = { sequence: Math.max(0, this.#position.sequence - back), atMs: ++this.#atMs }
    this.#trace?.replace(this.#position, this.#state)
  }

  // The hubs.

  #newHub(): Hub {
    const read = { state: this.#state, readAtMs: this.#nowMs }
    const changes: Hub['changes'] = {
      followed: { position: this.#position, records: new RecentRecords(this.#position) },
      knownForMs: () => {
        const knownForMs = read.readAtMs + BOUND_MS - this.#nowMs
        return knownForMs > 0 ? knownForMs : undefined
      },
    }
    const { followers, open, tell } = followersOf({
      changes,
      // Withdrawn keys are read from a file, not from the feed.
      basis: () => basisOf([...read.state.keys], ''),
      now: () => this.#nowMs + 5_000,
    })
    return { followers, open, changes, tell, read, history: this.#history, cutOffUntilMs: 0 }
  }

  #read(hub: Hub): void {
    if (this.#nowMs < hub.cutOffUntilMs) return
    const { followed } = hub.changes
    if (hub.history === this.#history)
      for (const record of this.#records)
        if (record.sequence > followed.position.sequence) followed.records.add({ ...record, account: '' })
    if (hub.history !== this.#history) followed.records.startAgain(this.#position)
    hub.history = this.#history
    followed.position = this.#position
    const hadKeys = hub.read.state.keys
    Object.assign(hub.read, { state: this.#state, readAtMs: this.#nowMs })
    this.#trace?.read(this.#hubs.indexOf(hub))
    if (hadKeys === this.#state.keys) hub.tell()
    else hub.followers.rulesChanged()
  }

  /** The question arrives at the hub, is answered there, and the answer arrives. */
  #describe(value: string): Promise<Described & { found: Described['tokens'][number] }> {
    // Behind the address of a hub may be another process than that of the stream.
    const hub = this.#asked && (this.#random() < 0.1 ? this.#any(this.#hubs) : this.#asked)
    const token = this.#tokens.find((each) => each.value === value) as Token
    this.found.asked++
    const question = this.#trace?.ask(token)
    return new Promise((resolve, reject) => {
      if (hub === undefined) {
        question?.refused()
        return reject(new Error('no hub'))
      }
      this.#in(20, () => {
        // It looks for keys as often as for changes, and answers from memory or asks the directory.
        if (hub.changes.knownForMs() === undefined) this.#read(hub)
        const of = {
          position: hub.changes.followed.position,
          basis: basisOf([...hub.read.state.keys], '').name,
        }
        const remembers = hub.changes.knownForMs() !== undefined && this.#random() < 0.7
        if (!remembers && this.#nowMs < hub.cutOffUntilMs)
          return this.#in(20, () => {
            question?.refused()
            reject(new Error('cut off'))
          })
        const isGenuine = hub.read.state.keys.has(token.key)
        const active = isInForce(token, remembers ? hub.read.state : this.#state)
        const found = isGenuine ? described(token, active) : undefined
        question?.reached(this.#hubs.indexOf(hub), remembers, of.position, found)
        this.#in(60, () => {
          question?.answered()
          resolve({ of, tokens: [], found })
        })
      })
    })
  }

  // What lies between.

  #connect(): void {
    const hub = this.#hubs[this.#next % this.#hubs.length] as Hub
    const reader = new Reader((bytes) => this.#trace?.written(bytes) ?? bytes)
    const stream: Stream = { hub, reader, isHeard: false, isOver: false }
    this.#stream = stream
    this.found.streams++
    this.#changes.begin()
    this.#trace?.connect(this.#hubs.indexOf(hub))
    const request = watchChangesRequest(this.#changes.followed?.position, this.#changes.basis)
    this.#in(30, () => {
      if (!stream.isOver) hub.open(reader, readWatchChangesRequest(request))
    })
  }

  #lose(): void {
    if (this.#stream === undefined) return
    this.#stream.isOver = true
    this.#stream.reader.end()
    this.#stream = undefined
    this.#next++
    this.#in(this.#isCalm ? 1 : 300, () => this.#connect())
  }

  /** What the hub has written since arrives, in order, some of it late, twice, or in the wrong order. */
  #deliver(): void {
    const stream = this.#stream
    if (stream === undefined || stream.reader.got.length === 0) return
    const dice = this.#isCalm ? 0.5 : this.#random()
    if (dice < 0.03) this.#stalledUntilMs = this.#nowMs + this.#random() * 2 * BOUND_MS
    if (!this.#isCalm && this.#nowMs < this.#stalledUntilMs) return
    const waiting = stream.reader.got.splice(0, this.#isCalm ? 100 : 1 + Math.floor(this.#random() * 9))
    if (dice > 0.6) waiting.push(...waiting.slice(-1))
    if (dice > 0.75) waiting.reverse()
    for (const bytes of waiting) this.#hear(stream, bytes)
  }

  #hear(stream: Stream, bytes: Buffer): void {
    if (stream.isOver) return
    try {
      this.#changes.hear(readHubResponse(bytes))
      this.#asked = stream.hub
      this.#trace?.heard(bytes, true)
    } catch (error) {
      if (!(error instanceof WrongHub)) throw error
      this.found.wrongHubs++
      this.#trace?.heard(bytes, false)
      this.#changes.distrust()
      this.#asked = undefined
      this.#lose()
    }
  }

  /** Does something within so many milliseconds. */
  #in(ms: number, run: () => void): void {
    this.#later.push({ atMs: this.#nowMs + this.#random() * ms, run })
  }

  async #happen(): Promise<void> {
    if (this.#isCalm || this.#random() < 0.6) this.#deliver()
    const due = this.#later.filter(({ atMs }) => atMs <= this.#nowMs).sort((a, b) => a.atMs - b.atMs)
    this.#later = this.#later.filter(({ atMs }) => atMs > this.#nowMs)
    for (const { run } of due) run()
    await settled()
  }

  // Checks.

  #check(token: Token): void {
    const beganMs = this.#nowMs
    const judge = (verification: Verification) => {
      this.found[verification.ok ? 'allowed' : 'denied']++
      if (!verification.ok) return
      this.#note(token)
      const endedMs = Math.min(token.inForceMs, token.genuineMs)
      if (endedMs < beganMs - BOUND_MS * (1 + 2 * DRIFT_MAX))
        this.#wrong ??= new Error(`${token.id} was allowed ${beganMs - endedMs} ms after its end`)
    }
    this.#trace?.check(token)
    const verification = this.#authority.verify(token.value, KINDS, {})
    this.#trace?.checked(token, verification)
    if (!(verification instanceof Promise)) judge(verification)
    else
      verification.then(judge).catch((error: Error) => {
        if (error.message !== 'no hub' && error.message !== 'cut off') this.#wrong ??= error
        this.found.unanswered++
      })
  }

  #wrong: Error | undefined

  /** Once all is told, the follower says of each token what the directory says. */
  async #comeToRest(): Promise<void> {
    this.#isCalm = true
    for (const hub of this.#hubs) hub.cutOffUntilMs = 0
    if (this.#stream === undefined && this.#later.length === 0) this.#connect()
    for (let time = 0; time < 80; time++) {
      this.#nowMs += 100
      for (const hub of this.#hubs) this.#read(hub)
      await this.#happen()
    }
    for (const token of this.#tokens) {
      const verification = this.#authority.verify(token.value, KINDS, {})
      for (let time = 0; time < 3; time++) {
        this.#nowMs += 60
        for (const hub of this.#hubs) this.#read(hub)
        await this.#happen()
      }
      const { ok } = await verification
      const { keys } = this.#state
      if (ok !== (keys.has(token.key) && isInForce(token, this.#state)))
        throw new Error(`${token.id} is ${ok} in the end`)
    }
  }

  #any<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T
  }
}
