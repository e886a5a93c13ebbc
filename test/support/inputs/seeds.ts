/**
 * Of which seeds a comparison runs: the same one each time. `SEED` chooses another.
 */
import { keepFigures } from '../../../scripts/assurance.ts'

export const SEEDS = [Number(process.env.SEED ?? 1)]

/** How many questions of each seed and mode. */
export const QUESTIONS = Number(process.env.QUESTIONS ?? 60)

/** Says what was compared, so that a failure can be repeated. */
export function report(comparison: string, figures: Readonly<Record<string, number>>): void {
  const text = Object.entries(figures).map(([name, count]) => `${count} ${name}`)
  process.stderr.write(`${comparison}: SEED=${SEEDS.join(' and ')}: ${text.join(', ')}\n`)
  keepFigures(comparison, figures)
}

/** Adds one run to those before. */
export function add(sums: Record<string, number>, figures: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(figures)) sums[name] = (sums[name] ?? 0) + count
}
