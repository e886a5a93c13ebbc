/** Makes rows from samples. */
import { median, ratioOf } from './compare.ts'
import { type Cost, cpuOf, latenciesOf, timeOf } from './cost.ts'
import { latencyOf } from './latency.ts'
import type { Figure, Row, Unit } from './suite.ts'

/** The texts of a row. */
export type RowTexts = Pick<Row, 'id' | 'what' | 'method'>

/** One side of a comparison: its samples, and what else its figure says. */
export interface Side extends Pick<Figure, 'name' | 'perSecond' | 'latency'> {
  readonly samples: readonly number[]
}

/** A row that compares A with B. */
export function comparedRow({ id, what, method }: RowTexts, unit: Unit, a: Side, b: Side): Row {
  return {
    id,
    what,
    a: figureOf(unit, a),
    b: figureOf(unit, b),
    ratio: ratioOf(a.samples, b.samples),
    method,
  }
}

/** A row with one figure that is compared with nothing. */
export function singleRow({ id, what, method }: RowTexts, a: Figure): Row {
  return { id, what, a, method }
}

/**
 * A row that compares the processor time of calls. Its figures also say how many calls there were a second,
 * and how long each took.
 */
export function cpuRow(texts: RowTexts, a: readonly Cost[], nameOfB: string, b: readonly Cost[]): Row {
  const side = (name: string, costs: readonly Cost[]): Side => ({
    name,
    samples: cpuOf(costs),
    perSecond: 1e6 / median(timeOf(costs)),
    latency: latencyOf(latenciesOf(costs)),
  })
  return comparedRow(texts, 'µs CPU', side(texts.what, a), side(nameOfB, b))
}

function figureOf(unit: Unit, { name, samples, ...more }: Side): Figure {
  return { name, value: median(samples), unit, ...more }
}
