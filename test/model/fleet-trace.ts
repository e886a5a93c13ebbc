/**
 * The steps of a simulated fleet, for `test/model/follower-trace.pml`: each is its number and its values.
 * Times are in microseconds, records are named by their order.
 */
import type { Verification } from '../../sidecar/authority/authority.ts'
import { type Described, readHubResponse } from '../../sidecar/authority/hub/hub-messages.ts'
import type { Position, Touched } from '../../sidecar/directory/feed/touches.ts'
import { concerns, isInForce, type State, type Token } from './fleet-tokens.ts'

/** The steps, as the model numbers them. */
export const STEPS = {
  ...{ pass: 1, change: 2, replace: 3, setKeys: 4, read: 5, connect: 6, written: 7, heard: 8 },
  ...{ said: 9, asked: 10, askedAgain: 11, joined: 12, reached: 13, answered: 14, refused: 15 },
  ...{ accept: 16, restart: 17 },
} as const

/** One step: its number, and its values. */
export type Step = readonly [step: number, ...values: number[]]

/** As many questions are on their way at a time, at most. */
export const QUESTIONS_MAX = 20
/** As many responses of a stream are remembered. */
export const MESSAGES_MAX = 400

export class FleetTrace {
  readonly steps: Step[] = []
  #token: Token | undefined
  #now: () => number = () => 0
  #toldUs = 0
  /** Names of records by their positions, and of bases in the order in which they came. */
  readonly #records = new Map<string, number>()
  readonly #bases = new Map<string, number>()
  #messages = new WeakMap<Buffer, number>()
  #written = 0
  readonly #busy = new Set<number>()
  #isChecking = false
  #asked = 0
  /** When that was asked. */
  #moment: number | undefined
  #hasAsked = false
  #starts = 0

  begin(token: Token, position: Position, now: () => number): void {
    this.#token = token
    this.#now = now
    this.#toldUs = microseconds(now())
    this.#nameOf(position)
  }

  change(position: Position, touched: Touched, state: State): void {
    const token = this.#token as Token
    const what = touched === undefined ? 2 : concerns(token, touched) ? 0 : 1
    this.#step('change', this.#nameOf(position), what, Number(isInForce(token, state)))
  }

  replace(position: Position, state: State): void {
    const active = Number(isInForce(this.#token as Token, state))
    this.#step('replace', this.#nameOf(position), position.sequence, active)
  }

  accept(position: Position, state: State): void {
    const active = Number(isInForce(this.#token as Token, state))
    this.#step('accept', this.#nameOf(position), position.sequence, active)
  }

  /** The answers to earlier questions reach no program. */
  restart(): void {
    this.#messages = new WeakMap()
    this.#busy.clear()
    this.#starts++
    this.#step('restart')
  }

  setKeys(keys: ReadonlySet<string>): void {
    const own = (this.#token as Token).key
    this.#step(
      'setKeys',
      [...keys].reduce((sum, key) => sum + (key === own ? 1 : 2), 0),
    )
  }

  read(hub: number): void {
    this.#step('read', hub)
  }

  connect(hub: number): void {
    this.#messages = new WeakMap()
    this.#step('connect', hub)
  }

  written(bytes: Buffer): Buffer {
    const { position, touched, validForMs = 0, basis, sentAtMs } = readHubResponse(bytes)
    const slot = this.#written++ % MESSAGES_MAX
    this.#messages.set(bytes, slot)
    const isEverything = touched.includes(undefined)
    const touches = !isEverything && touched.some((each) => concerns(this.#token as Token, each))
    const values = [this.#nameOf(position), Number(isEverything), Number(touches), microseconds(validForMs)]
    const name = this.#bases.get(basis) ?? this.#bases.size
    this.#bases.set(basis, name)
    this.#step('written', slot, ...values, name, microseconds(sentAtMs))
    return bytes
  }

  heard(bytes: Buffer, isRight: boolean): void {
    this.#step('heard', this.#messages.get(bytes) as number, Number(isRight))
  }

  check(token: Token): void {
    this.#isChecking = token === this.#token
    this.#hasAsked = false
  }

  /** @param moment of the check: one that comes after a change waits for the next question. */
  checked(
    token: Token,
    verification: Verification | Promise<Verification>,
    moment: number | undefined,
  ): void {
    if (token !== this.#token) return
    this.#isChecking = false
    if (!(verification instanceof Promise)) this.#step('said', Number(verification.ok))
    else if (!this.#hasAsked && moment !== undefined && moment === this.#moment)
      this.#step('joined', this.#asked)
  }

  /** @returns the notes of the question; `undefined`: it is about another token */
  ask(token: Token, moment: number | undefined) {
    if (token !== this.#token) return undefined
    this.#moment = moment
    let question = 0
    while (this.#busy.has(question)) question++
    this.#busy.add(question)
    this.#step(this.#isChecking ? 'asked' : 'askedAgain', question)
    this.#asked = question
    this.#hasAsked = true
    const starts = this.#starts
    const end = (step: 'answered' | 'refused') => {
      if (starts !== this.#starts) return
      this.#busy.delete(question)
      this.#step(step, question)
    }
    return {
      reached: (hub: number, remembers: boolean, position: Position, found: Described['tokens'][number]) => {
        if (starts !== this.#starts) return
        const says = [Number(found !== undefined), Number(found?.status.active ?? false)]
        this.#step('reached', question, hub, Number(remembers), this.#nameOf(position), ...says)
      },
      answered: () => end('answered'),
      refused: () => end('refused'),
    }
  }

  #nameOf({ sequence, atMs }: Position): number {
    const key = `${sequence} ${atMs}`
    const name = this.#records.get(key) ?? this.#records.size
    this.#records.set(key, name)
    return name
  }

  #step(step: keyof typeof STEPS, ...values: number[]): void {
    const nowUs = microseconds(this.#now())
    if (nowUs > this.#toldUs) this.steps.push([STEPS.pass, nowUs - this.#toldUs])
    this.#toldUs = nowUs
    this.steps.push([STEPS[step], ...values])
  }
}

function microseconds(ms: number): number {
  return Math.round(ms * 1_000)
}
