/**
 * The linter: compares the rows with what the statements claim, derives every conflict, and compares
 * those with the ones declared. A matrix passes when each derived conflict is declared, and no other.
 */
import type { Cell, Claim, Conflict, ConflictType, Matrix, Statement } from '../engine/index.ts'
import { type Problem, pathOf } from './problems.ts'

/** A conflict that follows from rows and statements, before anyone resolved it. */
export type DerivedConflict = Pick<Conflict, 'type' | 'cells' | 'apis' | 'kinds' | 'statements'>

export interface LintReport {
  /** Every conflict that follows from rows and statements, with its declaration where there is one. */
  readonly conflicts: readonly { readonly derived: DerivedConflict; readonly declared?: Conflict }[]
  /** Conflicts not declared, declared without ground, or declared wrongly. Empty: the matrix passes. */
  readonly problems: readonly Problem[]
}

/** Derives the conflicts of a matrix and compares them with the declared ones. */
export function lintMatrix(matrix: Matrix): LintReport {
  const derived = deriveConflicts(matrix)
  const declared = new Map<string, { conflict: Conflict; index: number }>()
  const problems: Problem[] = []

  for (const [index, conflict] of matrix.conflicts.entries()) {
    const key = subjectKey(conflict)
    const earlier = declared.get(key)
    if (earlier !== undefined)
      problems.push({
        path: pathOf(['conflicts', index]),
        expected: `expected each conflict once; \`${earlier.conflict.id}\` declares the same`,
      })
    else declared.set(key, { conflict, index })
  }
  problems.push(...opposedResolutions(matrix))

  const conflicts = derived.map((conflict) => {
    const found = declared.get(subjectKey(conflict))
    declared.delete(subjectKey(conflict))
    if (found === undefined) {
      problems.push({
        path: 'conflicts',
        expected: `expected a declaration with a resolution and a reason for the ${describe(conflict)}`,
      })
      return { derived: conflict }
    }
    if (!sameIds(found.conflict.statements, conflict.statements))
      problems.push({
        path: pathOf(['conflicts', found.index, 'statements']),
        expected: `expected ${conflict.statements.join(', ')}: the statements that take part`,
      })
    return { derived: conflict, declared: found.conflict }
  })
  for (const { conflict, index } of declared.values())
    problems.push({
      path: pathOf(['conflicts', index]),
      expected: `expected a conflict that follows from rows and statements; no ${describe(conflict)} does`,
    })
  return { conflicts, problems }
}

/** Every conflict that follows from the rows and the statements, in the order of the statements. */
export function deriveConflicts(matrix: Matrix): DerivedConflict[] {
  const table = new Table(matrix)
  const merged = new Map<string, DerivedConflict>()
  for (const statement of matrix.statements)
    for (const conflict of conflictsOf(statement, matrix, table)) {
      const key = subjectKey(conflict)
      const statements = new Set([...(merged.get(key)?.statements ?? []), ...conflict.statements])
      merged.set(key, { ...conflict, statements: [...statements] })
    }
  return [...merged.values()]
}

/** The table's side: which cells it marks as accepted. */
class Table {
  readonly #accepts: ReadonlyMap<string, ReadonlySet<string>>

  constructor(matrix: Matrix) {
    this.#accepts = new Map(matrix.apis.map((api) => [api.id, new Set(api.accepts)]))
  }

  accepts(api: string, kind: string): boolean {
    return this.#accepts.get(api)?.has(kind) === true
  }

  kindsOf(api: string): ReadonlySet<string> {
    return this.#accepts.get(api) ?? new Set()
  }

  apisOf(kind: string): string[] {
    return [...this.#accepts.keys()].filter((api) => this.accepts(api, kind))
  }
}

function conflictsOf(statement: Statement, matrix: Matrix, table: Table): DerivedConflict[] {
  const { claim } = statement
  const inCell = (type: ConflictType) => (cell: Cell) =>
    conflict(type, { cells: [cell], statements: [statement.id] })
  switch (claim.type) {
    case 'manages': {
      const { kind } = claim
      const listed = new Set(
        claimsOf(matrix, 'manages').flatMap((one) => (one.kind === kind ? one.apis : [])),
      )
      const rejected = claim.apis.filter((api) => !table.accepts(api, kind))
      const unlisted = claim.complete ? table.apisOf(kind).filter((api) => !listed.has(api)) : []
      return [
        ...rejected.map((api) => ({ api, kind })).map(inCell('contradiction')),
        ...unlisted.map((api) => ({ api, kind })).map(inCell('omission')),
      ]
    }
    case 'does_not_manage':
      return claim.apis
        .filter((api) => table.accepts(api, claim.kind))
        .map((api) => inCell('contradiction')({ api, kind: claim.kind }))
    case 'only_option': {
      const { kind } = claim
      const wrong = claim.apis.flatMap((api) => [
        ...(table.accepts(api, kind) ? [] : [{ api, kind }]),
        ...[...table.kindsOf(api)].filter((other) => other !== kind).map((other) => ({ api, kind: other })),
      ])
      const unlisted = table
        .apisOf(kind)
        .filter((api) => table.kindsOf(api).size === 1 && !claim.apis.includes(api))
        .map((api) => ({ api, kind }))
      return [...wrong.map(inCell('contradiction')), ...unlisted.map(inCell('omission'))]
    }
    case 'most':
      return table.apisOf(claim.kind).length * 2 > matrix.apis.length
        ? []
        : [conflict('overstatement', { kinds: [claim.kind], statements: [statement.id] })]
    case 'bound_to': {
      const row = matrix.tokenKinds.find((kind) => kind.id === claim.kind)
      return row?.scopeLevel === claim.scopeLevel
        ? []
        : [conflict('contradiction', { kinds: [claim.kind], statements: [statement.id] })]
    }
    case 'issued_to':
      return holderConflicts(statement, claim, matrix)
    case 'row_repeated': {
      const differing = matrix.tokenKinds
        .map((kind) => kind.id)
        .filter((kind) => claim.accepts.includes(kind) !== table.accepts(claim.api, kind))
      return differing.length === 0
        ? [conflict('duplicate_row', { apis: [claim.api], statements: [statement.id] })]
        : differing.map((kind) => inCell('contradiction')({ api: claim.api, kind }))
    }
    case 'advice':
    case 'remark':
      return []
  }
}

/** A statement that gives a kind to one type of holder, against those that give it to another only. */
function holderConflicts(
  statement: Statement,
  claim: Extract<Claim, { type: 'issued_to' }>,
  matrix: Matrix,
): DerivedConflict[] {
  const kinds = new Set<string>()
  const against: string[] = []
  for (const other of matrix.statements) {
    if (other.claim.type !== 'issued_to' || !other.claim.exclusive || other.claim.holder === claim.holder)
      continue
    const shared = other.claim.kinds.filter((kind) => claim.kinds.includes(kind))
    if (shared.length > 0) against.push(other.id)
    for (const kind of shared) kinds.add(kind)
  }
  for (const row of matrix.tokenKinds)
    if (claim.exclusive && claim.kinds.includes(row.id) && row.issuedTo !== claim.holder) kinds.add(row.id)
  if (kinds.size === 0) return []
  const ordered = matrix.tokenKinds.map((kind) => kind.id).filter((kind) => kinds.has(kind))
  return [conflict('contradiction', { kinds: ordered, statements: [...against, statement.id] })]
}

function claimsOf<T extends Claim['type']>(matrix: Matrix, type: T): Extract<Claim, { type: T }>[] {
  return matrix.statements
    .map((statement) => statement.claim)
    .filter((claim): claim is Extract<Claim, { type: T }> => claim.type === type)
}

function conflict(type: ConflictType, parts: Partial<Omit<DerivedConflict, 'type'>>): DerivedConflict {
  return { type, cells: [], apis: [], kinds: [], statements: [], ...parts }
}

/** What a conflict is about: two conflicts of one type about the same are the same. */
function subjectKey({ type, cells, apis, kinds }: DerivedConflict): string {
  return JSON.stringify([
    type,
    cells.map(({ api, kind }) => `${api} ${kind}`).sort(),
    [...apis].sort(),
    [...kinds].sort(),
  ])
}

function describe({ type, cells, apis, kinds }: DerivedConflict): string {
  const about = [
    ...cells.map(({ api, kind }) => `\`${api}\` × \`${kind}\``),
    ...[...apis, ...kinds].map((id) => `\`${id}\``),
  ]
  return `${type} about ${about.join(', ') || 'nothing'}`
}

/** One cell cannot be ruled by the table and by the prose at once. */
function opposedResolutions(matrix: Matrix): Problem[] {
  const ruled = new Map<string, Conflict>()
  const problems: Problem[] = []
  for (const [index, conflict] of matrix.conflicts.entries())
    for (const { api, kind } of conflict.cells) {
      const earlier = ruled.get(`${api} ${kind}`)
      if (earlier !== undefined && earlier.resolution !== conflict.resolution)
        problems.push({
          path: pathOf(['conflicts', index, 'resolution']),
          expected: `expected \`${earlier.resolution}\`, as \`${earlier.id}\` rules the same cell`,
        })
      else ruled.set(`${api} ${kind}`, conflict)
    }
  return problems
}

function sameIds(one: readonly string[], other: readonly string[]): boolean {
  return JSON.stringify([...one].sort()) === JSON.stringify([...other].sort())
}
