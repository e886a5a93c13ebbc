/**
 * Mutants that no test can kill: each is named in a comment above the line that it changes, with the reason.
 *
 *     // Survives: `end < 0` → `end <= 0`. A value that begins with a space is malformed either way.
 *     const scheme = end < 0 ? value : value.slice(0, end)
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../packages.ts'
import type { Mutant } from './report.ts'

/** A mutant in the words of the report: the line that it changes, and the part of it that becomes another. */
export interface Survivor extends Mutant {
  /** Why no test is missing. */
  readonly reason: string
}

const COMMENT = /^Survives: ((?:`[^`]+` → `[^`]+`(?:, )?)+)\. (.+)$/
const CHANGE = /`([^`]+)` → `([^`]+)`/g

/** @throws Error where a comment does not have the form */
export function survivorsOf(file: string, text = readFileSync(join(ROOT, file), 'utf8')): Survivor[] {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.flatMap((line, index) => {
    if (!line.startsWith('// Survives:')) return []
    const length = lines.slice(index).findIndex((each, further) => further > 0 && isAfter(each))
    const comment = lines.slice(index, index + length).map((each) => each.slice(3))
    const [, changes, reason] = COMMENT.exec(comment.join(' ')) ?? []
    if (changes === undefined || reason === undefined)
      throw new Error(`${file}:${index + 1}: expected // Survives: \`…\` → \`…\`. Reason.`)
    const changed = lines.slice(index + length).find((each) => !each.startsWith('//')) ?? ''
    return [...changes.matchAll(CHANGE)].map(([, from = '', to = '']) => {
      return { file, line: changed, from, to, reason }
    })
  })
}

/** Whether a line is not of the comment before it. */
function isAfter(line: string): boolean {
  return !line.startsWith('// ') || line.startsWith('// Survives:')
}
