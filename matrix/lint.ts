/**
 * The linter: compares the conflicts that a matrix declares with those that follow from its rows and
 * statements. A matrix passes when it declares each of them, and no other.
 */
import { type Cell, type Conflict, completeMatrix, type Matrix, type MatrixInput } from '../engine/index.ts'
import { type DerivedConflict, deriveConflicts, subjectKey } from './derive.ts'
import { Problems, pathOf } from './document/index.ts'
import type { MatrixProblem } from './findings.ts'

export interface LintReport {
  /** Every conflict that follows from rows and statements, with its declaration where there is one. */
  readonly conflicts: readonly { readonly derived: DerivedConflict; readonly declared?: Conflict }[]
  /**
   * Conflicts that are not declared, that do not follow, or that are declared wrongly, and a second kind that
   * the control panel creates: the first 100, and an entry that says how many more there are. Empty: the
   * matrix passes.
   */
  readonly problems: readonly MatrixProblem[]
}

/** Derives the conflicts of a matrix and compares them with the declared ones. */
export function lintMatrix(input: MatrixInput): LintReport {
  const matrix = completeMatrix(input)
  const problems = new Problems<MatrixProblem>()
  const declared = declarationsOf(matrix, problems)
  findOpposedResolutions(matrix, problems)
  const declarations = new NewDeclarations(matrix)
  const conflicts = deriveConflicts(matrix).map((derived) => {
    const key = subjectKey(derived)
    const found = declared.get(key)
    declared.delete(key)
    if (found === undefined) {
      problems.add(() => declarations.problem(derived))
      return { derived }
    }
    if (!sameIds(found.conflict.statements, derived.statements))
      problems.add(() => ({
        code: 'wrong-statements',
        path: pathOf(['conflicts', found.index, 'statements']),
        expected: `expected the statements that take part: ${derived.statements.map((id) => `\`${id}\``).join(', ')}`,
      }))
    return { derived, declared: found.conflict }
  })
  for (const { conflict, index } of declared.values())
    problems.add(() => ({
      code: 'dead-conflict',
      path: pathOf(['conflicts', index]),
      expected: `expected a conflict that follows from the rows and the statements; no ${describe(conflict)} does, so remove it`,
    }))
  return { conflicts, problems: problems.list() }
}

interface Declaration {
  readonly conflict: Conflict
  readonly index: number
}

/** The declared conflicts by their subjects. Of two about the same, the later one is a problem. */
function declarationsOf({ conflicts }: Matrix, problems: Problems<MatrixProblem>): Map<string, Declaration> {
  const declared = new Map<string, Declaration>()
  for (const [index, conflict] of conflicts.entries()) {
    const key = subjectKey(conflict)
    const earlier = declared.get(key)
    if (earlier === undefined) declared.set(key, { conflict, index })
    else
      problems.add(() => ({
        code: 'conflict-declared-twice',
        path: pathOf(['conflicts', index]),
        expected: `expected each conflict once; \`${earlier.conflict.id}\` declares the same`,
      }))
  }
  return declared
}

/** Declarations of conflicts that the file must declare: only the reason is left to write. */
export class NewDeclarations {
  readonly #takenIds: Set<string>
  /** Cells of which a declared conflict says that the prose rules them. */
  readonly #ruledByProse: ReadonlySet<string>

  constructor({ conflicts }: Matrix) {
    this.#takenIds = new Set(conflicts.map(({ id }) => id))
    const byProse = conflicts.filter(({ resolution }) => resolution === 'prose')
    this.#ruledByProse = new Set(byProse.flatMap(({ cells }) => cells.map(cellKey)))
  }

  /** The declaration of a conflict; the reason is left to write. */
  of(derived: DerivedConflict): Conflict {
    const { type, cells, apis, kinds, statements } = derived
    const id = freeId(derived, this.#takenIds)
    this.#takenIds.add(id)
    return {
      ...{ id, type, cells, apis, kinds, statements },
      resolution: this.#resolutionOf(derived),
      reason: 'write the reason here',
    }
  }

  /** The problem that the declaration is missing, with the JSON of it. */
  problem(derived: DerivedConflict): MatrixProblem {
    return {
      code: 'undeclared-conflict',
      path: 'conflicts',
      expected: `expected a declaration with a resolution and a reason for the ${describe(derived)}; add to the list: ${JSON.stringify(this.of(derived))}`,
    }
  }

  /** The table rules, unless another conflict about the same cell is resolved for the prose. */
  #resolutionOf({ cells: [cell] }: DerivedConflict): Conflict['resolution'] {
    return cell !== undefined && this.#ruledByProse.has(cellKey(cell)) ? 'prose' : 'table'
  }
}

const cellKey = ({ api, kind }: Cell): string => `${api} ${kind}`

/** Longest id that the schema takes, in characters. */
const ID_LENGTH_MAX = 128

/** An id that says what the conflict is about, and that no other conflict has. */
function freeId(
  { type, cells: [cell], apis: [api], kinds: [kind] }: DerivedConflict,
  taken: ReadonlySet<string>,
): string {
  const subject = cell === undefined ? (api ?? kind) : `${cell.api}-${cell.kind}`
  for (let count = 1; ; count++) {
    const ending = `-${type.replaceAll('_', '-')}${count === 1 ? '' : `-${count}`}`
    const id =
      String(subject)
        .slice(0, ID_LENGTH_MAX - ending.length)
        .replace(/[-_.:/]$/, '') + ending
    if (!taken.has(id)) return id
  }
}

function describe({ type, cells, apis, kinds }: DerivedConflict): string {
  const about = [
    ...cells.map(({ api, kind }) => `\`${api}\` × \`${kind}\``),
    ...[...apis, ...kinds].map((id) => `\`${id}\``),
  ]
  return `${type} about ${about.join(', ') || 'nothing'}`
}

/** One cell cannot be ruled by the table and by the prose at once. */
function findOpposedResolutions(matrix: Matrix, problems: Problems<MatrixProblem>): void {
  const ruled = new Map<string, Conflict>()
  for (const [index, conflict] of matrix.conflicts.entries())
    for (const cell of conflict.cells) {
      const earlier = ruled.get(cellKey(cell))
      if (earlier !== undefined && earlier.resolution !== conflict.resolution)
        problems.add(() => ({
          code: 'opposed-resolutions',
          path: pathOf(['conflicts', index, 'resolution']),
          expected: `expected \`${earlier.resolution}\`, as \`${earlier.id}\` rules the same cell`,
        }))
      else ruled.set(cellKey(cell), conflict)
    }
}

function sameIds(one: readonly string[], other: readonly string[]): boolean {
  return JSON.stringify([...one].sort()) === JSON.stringify([...other].sort())
}
