/**
 * A directory, two hubs that follow it, and a sidecar that follows one of them, under one seed. Responses and
 * answers are late; responses are doubled and exchanged; streams are lost, and hubs are cut off. Keys are
 * withdrawn, backups are restored, and the follower is restarted. Changes are lost until an operator accepts
 * it. The streams, what the follower believes and what it remembers are the real ones; time, the network and
 * the directory are not. The model of `test/model` judges what happens to one of the tokens.
 */
import { compile, type TokenKind } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import type { Verification } from '../../sidecar/authority/authority.ts'
import { HubAuthority } from '../../sidecar/authority/hub/hub-authority.ts'
import { HubBehind, HubChanges, WrongHub } from '../../sidecar/authority/hub/hub-changes.ts'
import {
  type Described,
  readHubResponse,
  watchChangesRequest,
} from '../../sidecar/authority/hub/hub-messages.ts'
import { readWatchChangesRequest } from '../../sidecar/contract/change-messages.ts'
import { KnownPosition } from '../../sidecar/directory/feed/known-position.ts'
import type { Touched, TouchedThing } from '../../sidecar/directory/feed/touches.ts'
import { Reader } from '../support/contract/reader.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { DueHeap } from '../world/due.ts'
import { FleetDirectory } from './fleet-directory.ts'
import { BOUND_MS, FleetHub } from './fleet-hub.ts'
import { described, isInForce, newTokens, settled, type Token, WALL_MS } from './fleet-tokens.ts'
import type { FleetTrace } from './fleet-trace.ts'

const TOKENS = 16
/** Most things that have ended at the same time. */
const ENDED_MAX = 3

const KINDS: ReadonlyMap<string, TokenKind> = compile(supportMatrix).tokenKinds

/** A stream that the follower reads. */
interface Stream {
  readonly hub: FleetHub
  readonly reader: Reader<Buffer>
  isHeard: boolean
  isOver: boolean
}

export class FleetWorld {
  readonly #trace: FleetTrace
  readonly #random: () => number
  readonly #tokens: Token[]
  readonly #hubs: readonly FleetHub[]
  /** How often the follower was started again. */
  #generation = 0
  /** The position that the follower knows outlives it. */
  readonly #told = new KnownPosition()
  #changes = undefined as unknown as HubChanges
  #authority = undefined as unknown as HubAuthority
  readonly #later = new DueHeap()
  #nowMs = 10_000
  readonly #directory = new FleetDirectory()
  #stream: Stream | undefined
  /** Until then nothing of the stream arrives. */
  #stalledUntilMs = 0
  /** The hub that is asked: the one whose stream was heard last. */
  #asked: FleetHub | undefined
  #next = 0
  /** Nothing goes wrong from now on, so that all must agree in the end. */
  #isCalm = false

  /** @param trace gets the events of the first token */
  constructor(seed: number, trace: FleetTrace) {
    this.#trace = trace
    this.#random = randomFrom(seed)
    this.#tokens = newTokens(TOKENS)
    const newHub = () => new FleetHub(this.#directory, () => this.#nowMs)
    this.#hubs = [newHub(), newHub()]
    trace.begin(this.#tokens[0] as Token, this.#directory.position, () => this.#nowMs)
    this.#startFollower()
  }

  #startFollower(): void {
    const generation = this.#generation
    this.#changes = new HubChanges({
      ...{ stalenessMs: 10 * BOUND_MS, known: this.#told, now: () => this.#nowMs },
    })
    this.#authority = new HubAuthority({
      changes: this.#changes,
      tokens: {
        describe: (value: string, onSent: () => void) => {
          onSent()
          return this.#describe(value, generation)
        },
      } as never,
      rememberedMax: 1_000,
      issue: () => Promise.reject(new Error('nothing is issued here')),
      now: () => WALL_MS + this.#nowMs,
      monotonic: () => this.#nowMs,
    })
  }

  async run(steps: number): Promise<void> {
    this.#connect()
    for (let step = 0; step < steps; step++) {
      this.#nowMs += this.#random() * 30
      await this.#happen()
      await this.#act()
    }
    await this.#comeToRest()
    for (const { followers } of this.#hubs) followers.end()
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
    else if (dice < 97.5) this.#restore()
    else if (dice < 97.6) this.#loseChanges()
    else if (dice < 97.8) this.#directory.backup = this.#directory.state
    else if (dice < 97.85) this.#restart()
    // Otherwise time goes on.
    else this.#nowMs += this.#random() * BOUND_MS
  }

  // The directory.

  /** Something ends, or something that has ended begins again: most of the time, most is in force. */
  #change(): void {
    const { id, user, account, project } = this.#any(this.#tokens)
    const ended = new Set(this.#directory.state.ended)
    const things = [`token ${id}`, `user ${user}`, `account ${account}`, `project ${project}`]
    const changed = this.#any(ended.size < ENDED_MAX ? things : [...ended])
    if (!ended.delete(changed)) ended.add(changed)
    const [thing, name = ''] = changed.split(' ') as [TouchedThing, string]
    const touched: Touched = this.#random() < 0.02 ? undefined : { thing, id: name }
    this.#directory.change(ended, touched)
    this.#trace.change(this.#directory.position, touched, this.#directory.state)
  }

  #setKeys(): void {
    const keys = new Set(this.#directory.state.keys)
    if (keys.size < 2) for (const key of ['k1', 'k2']) keys.add(key)
    else keys.delete(this.#any(['k1', 'k2']))
    this.#directory.setKeys(keys)
    this.#trace.setKeys(keys)
  }

  /** The changes since the backup are gone, and an operator has accepted that by a change of his own. */
  #restore(state = this.#directory.backup): void {
    this.#directory.restore(state)
    this.#trace.accept(this.#directory.position, this.#directory.state)
  }

  /** The last changes are gone unnoticed, and others take their numbers. Later an operator accepts it. */
  #loseChanges(): void {
    const back = Math.floor(this.#random() * 20)
    this.#directory.lose(back)
    this.#trace.replace(this.#directory.position, this.#directory.state)
    // An operator restarts what does not answer.
    if (this.#random() < 0.5) this.#in(2 * BOUND_MS, () => this.#restart())
    const history = this.#directory.history
    this.#in(4 * BOUND_MS, () => {
      if (this.#directory.history === history) this.#restore(this.#directory.state)
    })
  }

  /** The follower is killed, and starts again. */
  #restart(): void {
    if (this.#stream !== undefined) this.#end(this.#stream)
    this.#asked = undefined
    this.#generation++
    this.#startFollower()
    this.#trace.restart()
    this.#connect()
  }

  // The hubs.

  #read(hub: FleetHub): void {
    if (hub.isCutOff) return
    if (hub.isRefused) {
      // It knew what is lost, and no longer reads. A process that never knew takes its place.
      if (this.#random() < 0.9) return
      if (this.#stream?.hub === hub) this.#lose()
    }
    const hadKeys = hub.state.keys
    hub.read()
    this.#trace.read(this.#hubs.indexOf(hub))
    if (hadKeys === hub.state.keys) hub.tell()
    else hub.followers.rulesChanged()
  }

  /** The question arrives at the hub, is answered there, and the answer arrives. */
  #describe(value: string, generation: number): Promise<Described & { found: Described['tokens'][number] }> {
    // A process that has ended does not ask.
    if (generation !== this.#generation) return Promise.reject(new Error('cut off'))
    // Behind the address of a hub may be another process than that of the stream.
    const hub = this.#asked && (this.#random() < 0.1 ? this.#any(this.#hubs) : this.#asked)
    const token = this.#tokens.find((each) => each.value === value) as Token
    const question = this.#trace.ask(token, this.#changes.moment())
    const { told } = this.#changes
    return new Promise((resolve, reject) => {
      if (hub === undefined) {
        question?.refused()
        return reject(new Error('no hub'))
      }
      this.#in(20, () => {
        // It looks for keys as often as for changes, and answers from memory or asks the directory.
        if (hub.knownForMs() === undefined) this.#read(hub)
        const remembers = hub.knownForMs() !== undefined && this.#random() < 0.7
        if (!hub.answers(told) || (!remembers && (hub.isCutOff || hub.isRefused)))
          return this.#in(20, () => {
            question?.refused()
            reject(new Error('cut off'))
          })
        const { of } = hub
        const active = isInForce(token, remembers ? hub.state : this.#directory.state)
        const found = hub.state.keys.has(token.key) ? described(token, active) : undefined
        question?.reached(this.#hubs.indexOf(hub), remembers, of.position, found)
        this.#in(60, () => {
          question?.answered()
          resolve({ of, tokens: [], found })
        })
      })
    })
  }

  // The network between them.

  #connect(): void {
    const hub = this.#hubs[this.#next % this.#hubs.length] as FleetHub
    const reader = new Reader((bytes) => this.#trace.written(bytes) ?? bytes)
    const stream: Stream = { hub, reader, isHeard: false, isOver: false }
    this.#stream = stream
    this.#changes.begin()
    this.#trace.connect(this.#hubs.indexOf(hub))
    const { told, followed, basis } = this.#changes
    const request = watchChangesRequest(told, followed === undefined ? '' : basis)
    this.#in(30, () => {
      if (stream.isOver) return
      try {
        hub.open(reader, readWatchChangesRequest(request))
      } catch {
        // It is cut off, or lacks a change that the follower knows.
        if (this.#stream === stream) this.#lose()
      }
    })
  }

  #lose(): void {
    if (this.#stream === undefined) return
    this.#end(this.#stream)
    this.#next++
    const generation = this.#generation
    this.#in(this.#isCalm ? 1 : 300, () => {
      if (this.#generation === generation) this.#connect()
    })
  }

  #end(stream: Stream): void {
    stream.isOver = true
    stream.reader.end()
    this.#stream = undefined
  }

  /**
   * The responses that the hub has written since arrive in order, some of them late, twice, or in the wrong
   * order.
   */
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
      const response = readHubResponse(bytes)
      this.#changes.hear(response)
      this.#asked = stream.hub
      this.#trace.heard(bytes, true)
    } catch (error) {
      this.#trace.heard(bytes, false)
      if (error instanceof WrongHub) {
        this.#changes.distrust()
        this.#asked = undefined
      } else if (!(error instanceof HubBehind)) throw error
      this.#lose()
    }
  }

  /** Does something within this many milliseconds. */
  #in(ms: number, run: () => void): void {
    this.#later.at(this.#nowMs + this.#random() * ms, run)
  }

  async #happen(): Promise<void> {
    if (this.#isCalm || this.#random() < 0.6) this.#deliver()
    for (let run = this.#later.take(this.#nowMs); run !== undefined; run = this.#later.take(this.#nowMs))
      run()
    await settled()
  }

  // Checks.

  #check(token: Token): void {
    const moment = this.#changes.moment()
    this.#trace.check(token)
    this.#trace.checked(token, this.#verify(token), moment)
  }

  #verify(token: Token): Verification | Promise<Verification> {
    const verification = this.#authority.verify(token.value, KINDS, {})
    if (verification instanceof Promise)
      verification.catch(({ message }: Error) => {
        if (message !== 'no hub' && message !== 'cut off') throw new Error(message)
      })
    return verification
  }

  /** Once all changes have arrived, the follower says of the first token what the directory says. */
  async #comeToRest(): Promise<void> {
    this.#isCalm = true
    for (const hub of this.#hubs) hub.cutOffUntilMs = 0
    if (!this.#directory.has(this.#told.last)) this.#restore(this.#directory.state)
    if (this.#stream === undefined && this.#later.first === undefined) this.#connect()
    await this.#rest(80)
    const [token] = this.#tokens as [Token]
    // As where an answer of before cannot be shared: no check begins with it.
    this.#verify(token)
    await this.#rest(3)
    this.#check(token)
  }

  async #rest(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      this.#nowMs += 100
      for (const hub of this.#hubs) this.#read(hub)
      await this.#happen()
    }
  }

  #any<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T
  }
}
