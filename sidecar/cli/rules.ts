/** The rules that commands without a sidecar look at: the shipped matrix, or a file. */
import type { Command } from 'commander'
import { compile, type Engine, type Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { distance } from '../base/edit-distance.ts'
import { readMatrix } from '../rules.ts'

export interface RulesOptions {
  readonly matrix?: string
  readonly strict?: boolean
  readonly json?: boolean
}

export function addRulesOptions(command: Command): Command {
  return command
    .option('--matrix <file>', 'matrix file (default: the shipped matrix)')
    .option('--strict', 'deny every cell that a conflict of the source names')
    .option('--json', 'print the answer as one line of JSON')
}

/** The matrix and its engine. @throws MatrixError, or the file's error in words; both name the file */
export function readRules({ matrix: path, strict = false }: RulesOptions): {
  matrix: Matrix
  engine: Engine
} {
  const matrix = path === undefined ? supportMatrix : readMatrix(path)
  return { matrix, engine: compile(matrix, { strict }) }
}

/** The id, or an error that names the nearest ones. */
export function knownId(what: string, id: string, ids: Iterable<string>): string {
  const all = [...ids]
  if (all.includes(id)) return id
  throw new Error(`no ${what} \`${id.slice(0, 100)}\` in the matrix; ${nearestTo(id, all)}`)
}

/** Which ids may have been meant by one that is none. */
export function nearestTo(id: string, all: readonly string[]): string {
  const near = all.filter((each) => distance(each, id) <= 2 || each.startsWith(id) || id.startsWith(each))
  return near.length > 0
    ? `did you mean ${near.join(' or ')}?`
    : `expected one of ${all.slice(0, 40).join(', ')}`
}
