/** Deriving the conflicts of a matrix: what each type of claim says, against the rows. */
import {
  type Cell,
  type Claim,
  type Conflict,
  type ConflictType,
  completeMatrix,
  type Matrix,
  type MatrixInput,
  type Statement,
} from '../engine/index.ts'

/** A conflict that follows from rows and statements, before it is resolved. */
export type DerivedConflict = Pick<Conflict, 'type' | 'cells' | 'apis' | 'kinds' | 'statements'>

/** Every conflict that follows from the rows and the statements, in the order of the statements. */
export function deriveConflicts(input: MatrixInput): DerivedConflict[] {
  const matrix = completeMatrix(input)
  const table = new Table(matrix)
  const merged = new Map<string, { readonly conflict: DerivedConflict; readonly statements: Set<string> }>()
  for (const statement of matrix.statements)
    for (const conflict of conflictsOf(statement, matrix, table)) {
      const key = subjectKey(conflict)
      const earlier = merged.get(key)
      if (earlier === undefined) merged.set(key, { conflict, statements: new Set(conflict.statements) })
      else for (const id of conflict.statements) earlier.statements.add(id)
    }
  return Array.from(merged.values(), ({ conflict, statements }) => ({
    ...conflict,
    statements: [...statements],
  }))
}

/** The rows: which cells they mark as accepted; and the APIs that the statements list. Each is found once. */
class Table {
  readonly #accepts: ReadonlyMap<string, ReadonlySet<string>>
  readonly #apisOf = new Map<string, string[]>()
  readonly #listed = new Map<string, Set<string>>()

  constructor(matrix: Matrix) {
    this.#accepts = new Map(matrix.apis.map((api) => [api.id, new Set(api.accepts)]))
    for (const [api, kinds] of this.#accepts)
      for (const kind of kinds) {
        const apis = this.#apisOf.get(kind) ?? []
        this.#apisOf.set(kind, apis)
        apis.push(api)
      }
    for (const { claim } of matrix.statements) {
      if (claim.type !== 'manages') continue
      const listed = this.#listed.get(claim.kind) ?? new Set()
      this.#listed.set(claim.kind, listed)
      for (const api of claim.apis) listed.add(api)
    }
  }

  accepts(api: string, kind: string): boolean {
    return this.#accepts.get(api)?.has(kind) === true
  }

  kindsOf(api: string): ReadonlySet<string> {
    return this.#accepts.get(api) ?? new Set()
  }

  apisOf(kind: string): readonly string[] {
    return this.#apisOf.get(kind) ?? []
  }

  /** APIs that some statement says a token of the kind manages. */
  listed(kind: string): ReadonlySet<string> {
    return this.#listed.get(kind) ?? new Set()
  }
}

function conflictsOf(statement: Statement, matrix: Matrix, table: Table): DerivedConflict[] {
  const { claim } = statement
  const inCell = (type: ConflictType) => (cell: Cell) =>
    conflict(type, { cells: [cell], statements: [statement.id] })
  switch (claim.type) {
    case 'manages': {
      const { kind } = claim
      const listed = table.listed(kind)
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
      const named = new Set(claim.apis)
      const wrong = claim.apis.flatMap((api) => [
        ...(table.accepts(api, kind) ? [] : [{ api, kind }]),
        ...[...table.kindsOf(api)].filter((other) => other !== kind).map((other) => ({ api, kind: other })),
      ])
      const unlisted = table
        .apisOf(kind)
        .filter((api) => table.kindsOf(api).size === 1 && !named.has(api))
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

/** A statement that issues a kind to one type of holder, against those that issue it to another type only. */
function holderConflicts(
  statement: Statement,
  claim: Extract<Claim, { type: 'issued_to' }>,
  matrix: Matrix,
): DerivedConflict[] {
  const kinds = new Set<string>()
  const against: string[] = []
  for (const other of matrix.statements) {
    // Survives: `other.claim.type !== 'issued_to'` → `false`. Claims of no other type are exclusive: the type
    // is for the compiler.
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

function conflict(
  type: ConflictType,
  parts: Partial<DerivedConflict> & Pick<DerivedConflict, 'statements'>,
): DerivedConflict {
  return { type, cells: [], apis: [], kinds: [], ...parts }
}

/** Two conflicts of one type about the same cells, APIs and kinds are the same conflict. */
export function subjectKey({ type, cells, apis, kinds }: DerivedConflict): string {
  return JSON.stringify([
    type,
    cells.map(({ api, kind }) => `${api} ${kind}`).sort(),
    [...apis].sort(),
    [...kinds].sort(),
  ])
}
