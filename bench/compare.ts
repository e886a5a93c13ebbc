/**
 * Comparing on a machine whose speed drifts: contenders take turns within short rounds, so that what slows
 * one slows the others, and only ratios within a round are kept. Their median is the figure.
 */

/** Takes one sample: a number, or several that are taken at once; what they mean is the suite's business. */
export type Measure<Sample = number> = () => Sample | Promise<Sample>

/** The ratio of two contenders over all rounds. */
export interface Ratio {
  readonly median: number
  readonly p10: number
  readonly p90: number
  /** How many pairs it is made of. */
  readonly pairs: number
}

/** Takes one sample of each contender a round; a contender's samples stand in the order of the rounds. */
export async function interleave<Name extends string, Sample = number>(
  contenders: Readonly<Record<Name, Measure<Sample>>>,
  rounds: number,
): Promise<Record<Name, Sample[]>> {
  const names = Object.keys(contenders) as Name[]
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample[]])) as Record<Name, Sample[]>
  for (let round = 0; round < rounds; round++) {
    // Every other round runs backwards, so that nobody always comes after the same neighbour.
    const order = round % 2 === 0 ? names : names.toReversed()
    for (const name of order) samples[name].push(await contenders[name]())
  }
  return samples
}

/** What A costs in terms of B, round by round. */
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

/** The quantile, between two neighbours in proportion. */
function quantile(samples: readonly number[], part: number): number {
  const sorted = samples.toSorted((one, other) => one - other)
  const position = (sorted.length - 1) * part
  const below = sorted[Math.floor(position)] as number
  const above = sorted[Math.ceil(position)] as number
  return below + (above - below) * (position - Math.floor(position))
}
