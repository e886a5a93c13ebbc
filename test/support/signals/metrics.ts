/** The counts of meters, and their descriptions in the documentation. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Meters } from '../../../sidecar/usecases/decision-meters.ts'
import { ROOT } from '../checkout/sources.ts'

/** The values of a counter by the values of its labels, joined by a space. */
export function countedIn(meters: Meters, metric: string): Record<string, number> {
  const found = meters.read().find(({ name }) => name === metric)
  return Object.fromEntries(
    (found?.samples ?? []).map(({ labels, value }) => [Object.values(labels).join(' '), value]),
  )
}

/** A row of the table in docs/operate/health.md. */
export interface DocumentedMetrics {
  readonly names: readonly string[]
  /** Of all of them together. */
  readonly labels: readonly string[]
}

export function documentedMetrics(): readonly DocumentedMetrics[] {
  const text = readFileSync(join(ROOT, 'docs/operate/health.md'), 'utf8')
  const wordsIn = (cell: string) => Array.from(cell.matchAll(/`(\w+)`/g), ([, word = '']) => word)
  return Array.from(text.matchAll(/^\| (`portcullis_[^|]*)\|([^|]*)\|/gm), ([, names = '', labels = '']) => ({
    names: wordsIn(names),
    labels: wordsIn(labels),
  }))
}
