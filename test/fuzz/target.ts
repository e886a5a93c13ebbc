/** The promise of a reader of outside bytes, as a function that throws where the promise is broken. */
export interface Target {
  readonly name: string
  /** Inputs to begin with. */
  readonly seeds: readonly (string | Buffer)[]
  /** Reads the bytes, and throws an error if the reader broke a promise. */
  run(bytes: Buffer): void | Promise<void>
  /** Texts for the dictionary, besides those of the reader's code. */
  readonly words?: readonly string[]
  /** Longest input, in bytes. */
  readonly bytesMax?: number
  /** Most steps that an input of a given length may take: branches that are entered. */
  readonly stepsMax?: (bytes: number) => number
  /** How many executions `npm test` has time for, besides the corpus. */
  readonly runsInTests?: number
}

/** A promise of a reader was broken. */
class Broken extends Error {
  override readonly name = 'Broken'
}

/** @throws Broken if `kept` is false */
export function promised(kept: boolean, promise: string): asserts kept {
  if (!kept) throw new Broken(promise)
}

/** The result of `read`; undefined if it threw an error that it declares. Others are thrown on. */
export function reading<T>(
  read: () => T,
  ...declared: (abstract new (
    ...args: never[]
  ) => Error)[]
): T | undefined {
  try {
    return read()
  } catch (error) {
    if (declared.some((each) => error instanceof each)) return undefined
    throw error
  }
}

/** Takes parts of an input in turn: numbers for choices, then what is left. */
export class Parts {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** A number below `count`, from the next byte. */
  choice(count: number): number {
    return (this.#bytes[this.#at++] ?? 0) % count
  }

  /** The bytes that no choice took. */
  rest(): Buffer {
    return this.#bytes.subarray(this.#at)
  }
}

/** Lines of the input. */
export const linesIn = (bytes: Buffer): string[] => bytes.toString('latin1').split('\n')

/** Headers: a name before the first colon of each line, and a value behind it. */
export const fieldsIn = (bytes: Buffer): [name: string, value: string][] =>
  linesIn(bytes).map((line) => {
    const colon = line.indexOf(':')
    return colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1)]
  })
