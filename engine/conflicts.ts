/** The conflicts of the source and its advice, arranged so that each decision can name its own. */
import type { NamedConflict } from './decision.ts'
import { frozenCopy } from './freeze.ts'
import type { Steps } from './large.ts'
import type { Matrix } from './matrix.ts'

/** The conflicts as decisions name them: with the sections of their statements. */
export function* nameConflicts(matrix: Matrix): Steps<readonly NamedConflict[]> {
  const sections = new Map(matrix.statements.map((statement) => [statement.id, statement.section]))
  const table = new Map(matrix.apis.map((api) => [api.id, api.section]))
  const conflicts: NamedConflict[] = []
  for (const { statements, ...conflict } of matrix.conflicts) {
    const named = new Set(statements.map((id) => sections.get(id) as string))
    // A contested cell is a cell of the table, so the section of the table takes part.
    for (const { api } of conflict.cells) named.add(table.get(api) as string)
    conflicts.push(frozenCopy({ ...conflict, sections: [...named] }))
    yield
  }
  return Object.freeze(conflicts)
}

/** API id → the conflicts that are about it or about one of its cells, in the order of the matrix. */
export function* conflictsByApi(
  conflicts: readonly NamedConflict[],
): Steps<ReadonlyMap<string, readonly NamedConflict[]>> {
  const byApi = new Map<string, NamedConflict[]>()
  for (const conflict of conflicts) {
    for (const api of new Set([...conflict.apis, ...conflict.cells.map((cell) => cell.api)])) {
      const bearing = byApi.get(api)
      if (bearing === undefined) byApi.set(api, [conflict])
      else bearing.push(conflict)
    }
    yield
  }
  return byApi
}

/** The advice about tokens of one kind that one type of holder has. */
export interface Advised {
  readonly advice: readonly string[]
  /** Conflicts about whether such a holder may have such a token. */
  readonly conflicts: readonly NamedConflict[]
}

/** Kind id → type of holder → what is said about them. */
export function* adviceByKind(
  matrix: Matrix,
  conflicts: readonly NamedConflict[],
): Steps<ReadonlyMap<string, ReadonlyMap<string, Advised>>> {
  const byKind = new Map<string, Map<string, Advised>>()
  for (const { claim } of matrix.statements) {
    if (claim.type !== 'advice') continue
    for (const kind of claim.kinds) {
      const byHolder = byKind.get(kind) ?? new Map<string, Advised>()
      const earlier = byHolder.get(claim.holder)?.advice ?? NONE
      byHolder.set(claim.holder, {
        advice: Object.freeze([...earlier, claim.text]),
        conflicts: conflictsAboutHolder(matrix, conflicts, kind, claim.holder),
      })
      byKind.set(kind, byHolder)
      yield
    }
  }
  return byKind
}

/** The conflicts about a kind in which a statement about that type of holder takes part. */
function conflictsAboutHolder(
  matrix: Matrix,
  conflicts: readonly NamedConflict[],
  kind: string,
  holder: string,
): readonly NamedConflict[] {
  const about = new Set(
    matrix.statements
      .filter(({ claim }) => claim.type === 'issued_to' && claim.holder === holder)
      .map(({ id }) => id),
  )
  return Object.freeze(
    conflicts.filter(
      (conflict, index) =>
        // Survives: `matrix.conflicts[index]?.statements` → `matrix.conflicts[index].statements`. The
        // conflicts are those of the matrix, in its order.
        conflict.kinds.includes(kind) && matrix.conflicts[index]?.statements.some((id) => about.has(id)),
    ),
  )
}

const NONE: readonly never[] = Object.freeze([])
