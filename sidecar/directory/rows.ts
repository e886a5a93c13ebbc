/** Values of a row, as both databases return them. */

/** Between the parts of a text that was joined in SQL. No name contains a control character. */
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

/** The parts of a joined text, in byte order as far as JavaScript has it. */
export function lines(value: unknown): string[] {
  return typeof value === 'string' ? value.split(NEWLINE).sort() : []
}
