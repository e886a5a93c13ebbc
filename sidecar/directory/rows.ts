/** Reads the values of a row. The two databases return some of them as different types. */

/** Separates the parts of a text that SQL joined. Names contain no control characters. */
export const NEWLINE = '\n'

export function text(value: unknown): string {
  return String(value)
}

export function number(value: unknown): number {
  return Number(value)
}

export function flag(value: unknown): boolean {
  return Number(value) === 1
}

export function optionalNumber(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value)
}

/** The parts of a joined text, sorted as JavaScript sorts strings. */
export function lines(value: unknown): string[] {
  return typeof value === 'string' ? value.split(NEWLINE).sort() : []
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
