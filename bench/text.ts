/** Figures for people: three digits that count, with a unit that suits. */
import type { Figure } from './suite.ts'

/** `34.9 µs CPU`, `104 MB`, `13.4 ms (74.6/s)`. */
export function figureText({ value, unit, perSecond }: Figure): string {
  const text =
    unit === 'bytes' && Math.abs(value) >= 1e6 ? `${number(value / 1e6)} MB` : `${number(value)} ${unit}`
  return perSecond === undefined ? text : `${text} (${number(perSecond)}/s)`
}

/** Three digits that count; more than that is noise. */
export function number(value: number): string {
  if (Math.abs(value) < 0.000005) return '0'
  const rounded = Number(value.toPrecision(3))
  return Math.abs(rounded) < 1000 ? String(rounded) : rounded.toLocaleString('en')
}
