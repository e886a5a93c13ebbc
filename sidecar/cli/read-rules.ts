/** The rules that commands without a sidecar read: the shipped matrix, or a matrix file. */
import type { Command } from 'commander'
import { compile, type Engine, type Matrix, namesMeant } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { readMatrix } from '../rules/matrix-file/read.ts'
import { usageError } from './terminal/errors.ts'

export interface RulesOptions {
  readonly matrix?: string
  readonly strict?: boolean
  readonly json?: boolean
}

export function addRulesOptions(command: Command): Command {
  return command
    .option('--matrix <file>', 'matrix file (default: the shipped matrix)')
    .option('--strict', 'deny every cell that a conflict of the source names')
    .option('--json', 'print the answer, or the error, as one line of JSON')
}

/**
 * The matrix and its engine.
 *
 * @throws MatrixError where the file holds no valid matrix; Error where it cannot be read. Both name the
 *   file.
 */
export function readRules({ matrix: path, strict = false }: RulesOptions): {
  matrix: Matrix
  engine: Engine
} {
  const matrix = path === undefined ? supportMatrix : readMatrix(path)
  return { matrix, engine: compile(matrix, { strict }) }
}

/** Refuses an id that is not in the matrix. @throws CommandError that names the nearest ids */
export function expectKnownId(what: string, id: string, ids: Iterable<string>): void {
  const all = [...ids]
  if (!all.includes(id))
    throw usageError(`no ${what} \`${id.slice(0, 100)}\` in the matrix; ${suggestion(id, all)}`)
}

/** The ids that may have been meant by an unknown one. */
export function suggestion(id: string, all: readonly string[]): string {
  const begun = all.filter((each) => each.startsWith(id) || id.startsWith(each))
  const near = [...new Set([...namesMeant(id, all), ...begun])]
  return near.length > 0
    ? `did you mean ${near.join(' or ')}?`
    : `expected one of ${all.slice(0, 40).join(', ')}`
}
