/** Random numbers from a seed, and what is made of them. */

/** Random numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Choices of chance, the same for the same numbers. */
export class Dice {
  /** Numbers from 0 to 1. */
  readonly random: () => number

  constructor(random: () => number) {
    this.random = random
  }

  /** A number below the limit. */
  of(limit: number): number {
    return Math.floor(this.random() * limit)
  }

  one<T>(from: readonly T[]): T {
    return from[this.of(from.length)] as T
  }

  /** In any order. */
  mixed<T>(from: readonly T[]): T[] {
    const left = [...from]
    return from.flatMap(() => left.splice(this.of(left.length), 1))
  }

  /** Mostly none of them. */
  some<T>(from: readonly T[]): T[] {
    return this.of(3) > 0 ? [] : from.filter(() => this.of(4) === 0)
  }
}
