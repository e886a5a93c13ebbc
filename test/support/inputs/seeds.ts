/**
 * Of which seeds a comparison runs: a fixed one, and a new one each time. `SEED` runs the same one again.
 * With `ASSURANCE=record` a run keeps its figures for `docs/decide/assurance.md`.
 */
import { keepFigures } from '../../../scripts/assurance.ts'

export const SEEDS = process.env.SEED === undefined ? [1, Date.now() % 1_000_000] : [Number(process.env.SEED)]

/** As long as somebody asks for. */
export const TIMEOUT_MS = 8 * 3_600_000

/** How many questions of each seed and mode. */
export const QUESTIONS = Number(process.env.QUESTIONS ?? 150)

/** Says what was compared, so that a failure can be repeated. */
export function report(comparison: string, figures: Readonly<Record<string, number>>): void {
  const text = Object.entries(figures).map(([name, count]) => `${count} ${name}`)
  process.stderr.write(`${comparison}: SEED=${SEEDS.join(' and ')}: ${text.join(', ')}\n`)
  if (process.env.ASSURANCE === 'record') keepFigures(comparison, figures)
}

/** Adds one run to those before. */
export function add(sums: Record<string, number>, figures: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(figures)) sums[name] = (sums[name] ?? 0) + count
}
