/**
 * The resources that a day takes: memory, open files, and the disk. Its second half must take no more than
 * its first.
 */
import { Fleet, type Measures } from './fleet.ts'

/** Part of the day before which nothing counts: caches and heaps are not there yet. */
const WARM = 0.1
/** A process is not measured before it has run for this time. */
const SETTLED_MS = 2_000
const LOOK_MS = 1_000

/** How much more the second half may take. */
const MORE = { memory: 1.2, memoryMb: 40, files: 100, growth: 1.5, growthBytes: 4_194_304 }

interface Most extends Measures {
  readonly logBytes: number
}

export class Usage {
  readonly #fleet: Fleet
  readonly #halves: [Most, Most] = [NOTHING, NOTHING]
  /** Size of the data folder when the day is warm, at its half and at its end. */
  readonly #data: number[] = []
  #looks = 0
  #nextMs = 0

  constructor(fleet: Fleet) {
    this.#fleet = fleet
  }

  /** A process was started. */
  begins(): void {
    this.#nextMs = performance.now() + SETTLED_MS
  }

  look(part: number): void {
    if (performance.now() < this.#nextMs || part < WARM) return
    this.#nextMs = performance.now() + LOOK_MS
    const { host, follower, sizes } = this.#fleet
    const [one, other] = [host.measures(), follower.measures()]
    if (one === undefined || other === undefined) return
    const half = part < 0.5 ? 0 : 1
    const before = this.#halves[half]
    this.#looks++
    this.#halves[half] = {
      memoryMb: Math.max(before.memoryMb, one.memoryMb + other.memoryMb),
      files: Math.max(before.files, one.files + other.files),
      logBytes: Math.max(before.logBytes, sizes.log),
    }
    this.#data[half] ??= sizes.data
    this.#data[2] = sizes.data
  }

  /** The resource that exceeds its bound. */
  get problem(): string | undefined {
    const [first, second] = this.#halves
    const [warm = 0, half = 0, end = 0] = this.#data
    if (second.memoryMb > first.memoryMb * MORE.memory + MORE.memoryMb)
      return `memory grows: at most ${first.memoryMb} MB in the first half, ${second.memoryMb} MB in the second`
    if (second.files > first.files + MORE.files)
      return `files stay open: at most ${first.files} in the first half, ${second.files} in the second`
    if (second.logBytes > Fleet.logBytesMax) return `the decision log has ${second.logBytes} bytes`
    // The first part of the day is not in the first half.
    if (end - half > ((half - warm) / (0.5 - WARM)) * 0.5 * MORE.growth + MORE.growthBytes)
      return `the data folder grows faster: ${warm}, ${half}, then ${end} bytes`
    return undefined
  }

  get figures(): Readonly<Record<string, number>> {
    const [first, second] = this.#halves
    const [warm = 0, half = 0, end = 0] = this.#data
    return {
      ...{ looks: this.#looks, memoryFirst: first.memoryMb, memorySecond: second.memoryMb },
      ...{ filesFirst: first.files, filesSecond: second.files, logBytes: second.logBytes },
      ...{ dataWarm: warm, dataHalf: half, dataEnd: end },
    }
  }
}

const NOTHING: Most = { memoryMb: 0, files: 0, logBytes: 0 }
