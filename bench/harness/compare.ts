/**
 * Compares contenders on a machine whose speed drifts. They take turns in short rounds, so that whatever
 * slows one also slows the others. Only ratios within a round count, and their median is the figure.
 */

/** Takes one sample: a number, or several values that are measured together. */
export type Measure<Sample = number> = () => Sample | Promise<Sample>

/** The ratio of two contenders over all rounds. */
export interface Ratio {
  readonly median: number
  readonly p10: number
  readonly p90: number
  /** How many rounds it is made of. */
  readonly pairs: number
}

/**
 * Takes one sample of each contender in each round. Returns the samples of each in the order of the rounds.
 */
export async function interleave<Name extends string, Sample = number>(
  contenders: Readonly<Record<Name, Measure<Sample>>>,
  rounds: number,
): Promise<Record<Name, Sample[]>> {
  const names = Object.keys(contenders) as Name[]
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample[]])) as Record<Name, Sample[]>
  for (let round = 0; round < rounds; round++) {
    // Every other round runs backwards, so that no contender always follows the same one.
    const order = round % 2 === 0 ? names : names.toReversed()
    for (const name of order) samples[name].push(await contenders[name]())
  }
  return samples
}

/** A divided by B, round by round. @throws TypeError if the numbers of samples differ or there are none */
export function ratioOf(a: readonly number[], b: readonly number[]): Ratio {
  if (a.length !== b.length || a.length === 0)
    throw new TypeError('expected as many samples of A as of B, and at least one')
  const ratios = a.map((sample, round) => sample / (b[round] as number))
  return {
    median: quantile(ratios, 0.5),
    p10: quantile(ratios, 0.1),
    p90: quantile(ratios, 0.9),
    pairs: ratios.length,
  }
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5)
}

/** The quantile, interpolated between its two neighbours. */
function quantile(samples: readonly number[], part: number): number {
  const sorted = samples.toSorted((one, other) => one - other)
  const position = (sorted.length - 1) * part
  const below = sorted[Math.floor(position)] as number
  const above = sorted[Math.ceil(position)] as number
  return below + (above - below) * (position - Math.floor(position))
}
