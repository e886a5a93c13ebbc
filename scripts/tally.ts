/**
 * The reports of the steps of `.ci/run` and `.ci/nightly`: how many tests passed and failed, and which were
 * skipped and why. `TALLY` names the file that gets it, a line of JSON each time.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

export interface Skip {
  /** A file of tests, or a program that is missing. */
  readonly what: string
  /** How many tests. */
  readonly tests?: number
  /** The reason, where it is known. */
  readonly why?: string
}

export interface Tally {
  readonly passed: number
  readonly failed: number
  readonly skipped: readonly Skip[]
}

export function tell(part: Partial<Tally>): void {
  if (process.env.TALLY !== undefined) appendFileSync(process.env.TALLY, `${JSON.stringify(part)}\n`)
}

/** @returns what the file has, added up, or `undefined` if no test was counted */
export function read(path: string): Tally {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  const parts = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Partial<Tally>)
  const sum = (key: 'passed' | 'failed') => parts.reduce((total, part) => total + (part[key] ?? 0), 0)
  return {
    passed: sum('passed'),
    failed: sum('failed'),
    skipped: parts.flatMap((part) => part.skipped ?? []),
  }
}
