/** The loop: an input is changed, read, and kept if it took a branch that no input took before. */
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { randomFrom } from '../support/inputs/random.ts'
import type { Coverage } from './instrument.ts'
import { type Material, minimised, mutated } from './mutate.ts'
import type { Target } from './target.ts'

const BYTES_MAX = 1_024
/** An input that takes longer, three times in a row, is a finding. */
const MS_MAX = 1_000
/** Steps that any input may take, and steps for each byte. */
const stepsMax = (bytes: number) => 20_000 + 100 * bytes

/** An input with which a reader breaks a promise. */
export interface Finding {
  readonly target: string
  readonly message: string
  readonly input: Buffer
}

export interface Budget {
  readonly seed: number
  /** Executions at most. */
  readonly runs?: number
  /** Time at most, in milliseconds. */
  readonly ms?: number
  /** Called before an input is read, so that another thread can name one that never ends. */
  readonly about?: (input: Buffer) => void
}

export interface Report {
  readonly executions: number
  readonly ms: number
  /** Counters of branches that were taken, by size. */
  readonly coverage: number
  readonly findings: readonly Finding[]
  readonly corpus: readonly Buffer[]
  /** Most steps for a byte, of inputs of 64 bytes and more. */
  readonly stepsPerByte: number
}

export class Fuzzer {
  readonly #target: Target
  readonly #coverage: Coverage | undefined
  readonly #seen: Uint32Array
  readonly #corpus: Buffer[] = []
  readonly #findings = new Map<string, Finding>()
  #features = 0
  #nearer = 0
  #executions = 0
  #stepsPerByte = 0

  /** @param coverage without it, inputs are changed blindly */
  constructor(target: Target, coverage?: Coverage) {
    this.#target = target
    this.#coverage = coverage
    // A module that is loaded later has counters, too.
    this.#seen = new Uint32Array(coverage?.hits.length ?? 0)
  }

  /** Reads the corpus, then changes its inputs until the budget is used up. */
  async fuzz(
    corpus: readonly Buffer[],
    { seed, runs = Number.POSITIVE_INFINITY, ms, about }: Budget,
  ): Promise<Report> {
    const begun = performance.now()
    const end = begun + (ms ?? Number.POSITIVE_INFINITY)
    const random = randomFrom(seed)
    const seeds = this.#target.seeds.map((each) => Buffer.from(each))
    // The work of a first use does not count as an input's steps.
    for (const input of seeds) {
      about?.(input)
      await this.#fault(input)
    }
    this.#stepsPerByte = 0
    for (const input of [...seeds, ...corpus]) {
      about?.(input)
      if ((await this.#isNew(input)) || this.#coverage === undefined) this.#corpus.push(input)
    }
    if (this.#corpus.length === 0) this.#corpus.push(Buffer.alloc(0))
    const first = this.#executions
    const words = this.#words()
    while (this.#executions - first < runs && performance.now() < end) {
      const parent = this.#chosen(random)
      // Of the input that was read last: most often it is of the same kind.
      const material: Material = {
        words,
        pairs: this.#pairs(),
        other: this.#chosen(random),
        bytesMax: this.#target.bytesMax ?? BYTES_MAX,
      }
      for (let times = 0; times < 16; times++) {
        const input = mutated(parent, random, material)
        about?.(input)
        if (await this.#isNew(input)) this.#corpus.push(input)
      }
      // Values that readers leave for the next turn are kept until it comes.
      await setImmediate()
    }
    return this.#report(performance.now() - begun)
  }

  /** Short inputs that take the branches of the corpus between them, of at most `bytesMax` bytes together. */
  async smallest(corpus: readonly Buffer[], bytesMax: number): Promise<Buffer[]> {
    const kept: Buffer[] = []
    let bytes = 0
    const sorted = [...corpus].sort((a, b) => a.length - b.length || Buffer.compare(a, b))
    for (const input of sorted) {
      if (bytes + input.length > bytesMax || !(await this.#isNew(input))) continue
      kept.push(input)
      bytes += input.length
    }
    return kept
  }

  /** Half of the time one of the last inputs, which are the least explored. */
  #chosen(random: () => number): Buffer {
    const { length } = this.#corpus
    const at = random() < 0.5 ? random() : 1 - random() ** 3
    return this.#corpus[Math.min(length - 1, Math.floor(at * length))] as Buffer
  }

  #words(): Buffer[] {
    const own = (this.#target.words ?? []).map((each) => Buffer.from(each))
    const found = [...(this.#coverage?.words ?? [])]
      .filter((each) => each !== '')
      .map((each) => Buffer.from(each))
    // The target's own words are as frequent as all others together.
    const times = own.length === 0 ? 0 : Math.max(1, Math.floor(found.length / own.length))
    return [...found, ...Array.from({ length: times }, () => own).flat()]
  }

  /** Both ways round: an input has one side or the other. */
  #pairs(): [Buffer, Buffer][] {
    const pairs = this.#coverage?.pairs ?? []
    return pairs.flatMap(([a, b]): [Buffer, Buffer][] => {
      const [first, second] = [written(a), written(b)]
      return [
        [first, second],
        [second, first],
      ]
    })
  }

  /** Reads an input. @returns whether it took a new branch */
  async #isNew(input: Buffer): Promise<boolean> {
    const message = await this.#fault(input)
    this.#executions++
    const isNew = this.#look()
    if (message === undefined) return isNew
    const key = message.replace(/\d+/g, '0')
    if (this.#findings.has(key)) return false
    this.#findings.set(key, { target: this.#target.name, message, input })
    const small = await minimised(
      input,
      async (bytes) => (await this.#fault(bytes))?.replace(/\d+/g, '0') === key,
    )
    const told = (await this.#fault(small)) ?? message
    this.#findings.set(key, { target: this.#target.name, message: told, input: small })
    this.#coverage?.hits.fill(0, 0, this.#coverage.size)
    return false
  }

  /** The fault of the reading of an input, if any. */
  async #fault(input: Buffer): Promise<string | undefined> {
    const coverage = this.#coverage
    let shortest = Number.POSITIVE_INFINITY
    for (let times = 0; times < 3; times++) {
      coverage?.hits.fill(0, 0, coverage.size)
      const begun = performance.now()
      try {
        // A copy, because a reader that keeps a part of what was only lent must see it change.
        const pending = this.#target.run(Buffer.from(input))
        if (pending !== undefined) await pending
      } catch (error) {
        return faultOf(error)
      }
      // Without counters there is no bound: a test has no limit of time.
      shortest = coverage === undefined ? 0 : Math.min(shortest, performance.now() - begun)
      if (shortest < MS_MAX) break
    }
    if (shortest >= MS_MAX) return 'an input that takes longer than a second'
    if (coverage === undefined) return undefined
    const steps = this.#steps(coverage)
    if (input.length >= 64) this.#stepsPerByte = Math.max(this.#stepsPerByte, steps / input.length)
    return steps > (this.#target.stepsMax ?? stepsMax)(input.length)
      ? 'more steps than its length allows'
      : undefined
  }

  #steps({ hits, size }: Coverage): number {
    let steps = 0
    for (let at = 0; at < size; at++) steps += hits[at] as number
    return steps
  }

  /** Notes which branches the last input took, about how often, and how near its comparisons came. */
  #look(): boolean {
    if (this.#coverage === undefined) return false
    const { hits, size, nearer } = this.#coverage
    const seen = this.#seen
    let isNew = nearer > this.#nearer
    this.#nearer = nearer
    for (let at = 0; at < size; at++) {
      const count = hits[at] as number
      if (count === 0) continue
      const bit = 1 << (count < 4 ? count : Math.min(10, 34 - Math.clz32(count)))
      if (((seen[at] as number) & bit) !== 0) continue
      seen[at] = (seen[at] as number) | bit
      this.#features++
      isNew = true
    }
    return isNew
  }

  #report(ms: number): Report {
    return {
      executions: this.#executions,
      ms,
      coverage: this.#features,
      findings: [...this.#findings.values()],
      corpus: this.#corpus,
      stepsPerByte: this.#stepsPerByte,
    }
  }
}

/** A text or a number as it stands in an input: numbers as protocols write them, in four or two bytes. */
function written(value: unknown): Buffer {
  if (typeof value !== 'number') return Buffer.from(String(value))
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return value > 0xffff ? bytes : bytes.subarray(2)
}

/** The error, and the place in our code where it was thrown. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return `thrown: ${String(error)}`
  const place = error.stack?.match(/at .*?((?:engine|matrix|sidecar|proto|test)\/[^():]+):(\d+)/)
  return `${error.name}: ${error.message}${place ? ` (${place[1]}:${place[2]})` : ''}`
}
