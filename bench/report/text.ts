/**
 * Texts for people: figures with three significant digits and a suitable unit, and the machine of the
 * benchmarks.
 */
import { cpus } from 'node:os'
import type { Figure } from '../harness/suite.ts'

export { columns } from '../../sidecar/base/text-table.ts'

/** `34.9 µs CPU`, `104 MB`, `13.4 ms (74.6/s)`. */
export function figureText({ value, unit, perSecond }: Pick<Figure, 'value' | 'unit' | 'perSecond'>): string {
  const text =
    unit === 'bytes' && Math.abs(value) >= 1e6 ? `${number(value / 1e6)} MB` : `${number(value)} ${unit}`
  return perSecond === undefined ? text : `${text} (${number(perSecond)}/s)`
}

/** `850 µs`, `4.1 ms`. */
export function durationText(microseconds: number): string {
  return microseconds < 1000 ? `${number(microseconds)} µs` : `${number(microseconds / 1000)} ms`
}

/** `1.22 ×`; far below 1 as a fraction, which is easier to read: `1/1,560 ×`. */
export function ratioText(ratio: number): string {
  return ratio > 0 && ratio < 0.1 ? `1/${number(1 / ratio)} ×` : `${number(ratio)} ×`
}

/** Three significant digits: more would be noise. */
export function number(value: number): string {
  if (Math.abs(value) < 0.000005) return '0'
  const rounded = Number(value.toPrecision(3))
  return Math.abs(rounded) < 1000 ? String(rounded) : rounded.toLocaleString('en')
}

/** Each value once, sorted, with commas between them. */
export function distinct(values: readonly string[]): string {
  return [...new Set(values)].sort().join(', ')
}

/** The processors of this machine: `2 × MODEL`. */
export function cpuModel(): string {
  const [first] = cpus()
  return `${cpus().length} × ${first?.model.trim() ?? 'unknown processor'}`
}

/** JSON with a line for each part: figures are not read in a diff, but a merge needs lines. */
export function linesOf(
  parts: readonly object[],
  replacer?: (key: string, value: unknown) => unknown,
): string {
  return `[\n${parts.map((part) => JSON.stringify(part, replacer)).join(',\n')}\n]`
}
