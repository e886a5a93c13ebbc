/** What there is to say of an API before any question: the facts about its cells, and how an engine lists it. */
import type { CompiledApi, NamedConflict } from './decision.ts'
import type { Api, TokenKind } from './matrix.ts'
import { type Facts, reasonOf } from './rule.ts'

/** The facts about a cell, which no question changes. */
export type CellFacts = Omit<Facts, 'credential' | 'scope' | 'target'>

export interface ApiRow {
  readonly api: CompiledApi
  /** One for each kind, in their order, and one for all kinds that are not in the matrix. */
  readonly facts: readonly CellFacts[]
}

/** @param conflicts those that bear on the API, in the order of the matrix */
export function compileApi(
  row: Api,
  kinds: readonly TokenKind[],
  conflicts: readonly NamedConflict[],
  strict: boolean,
): ApiRow {
  const cells = kinds.map((kind) => {
    const contesting = conflicts.filter((conflict) => contests(conflict, row.id, kind.id))
    const bearing = conflicts.filter(
      (conflict) => conflict.apis.includes(row.id) || contesting.includes(conflict),
    )
    return { kind, contesting, bearing, facts: factsOf(row, kind, contesting, strict) }
  })
  const api = Object.freeze({
    id: row.id,
    title: row.title,
    section: row.section,
    accepted: Object.freeze(
      cells
        .filter(({ facts }) => opens(facts))
        .map(({ kind: { id, header, obtained } }) =>
          Object.freeze({ kind: id, header, issuable: obtained.by === 'issue' }),
        ),
    ),
    contested: Object.freeze(
      cells.filter(({ contesting }) => contesting.length > 0).map(({ kind }) => kind.id),
    ),
    conflicts: new Map(cells.map(({ kind, bearing }) => [kind.id, Object.freeze(bearing)])),
  })
  return { api, facts: [...cells.map(({ facts }) => facts), factsOf(row, undefined, [], strict)] }
}

/** The facts about the cells of all APIs that are not in the matrix, as {@link ApiRow} lists them. */
export function unknownApiFacts(kinds: readonly TokenKind[], strict: boolean): readonly CellFacts[] {
  return [...kinds, undefined].map((kind) => factsOf(undefined, kind, [], strict))
}

/** @param contesting the conflicts that put the cell in doubt */
function factsOf(
  row: Api | undefined,
  kind: TokenKind | undefined,
  contesting: readonly NamedConflict[],
  strict: boolean,
): CellFacts {
  const reversed = contesting.some(({ resolution }) => resolution === 'prose')
  return {
    api: row === undefined ? 'unknown' : 'known',
    kind: kind === undefined ? 'unknown' : kind.scopeLevel,
    table: kind !== undefined && row?.accepts.includes(kind.id) ? 'accepts' : 'rejects',
    conflict: contesting.length === 0 ? 'none' : reversed ? 'prose' : 'table',
    strict,
  }
}

/** Whether a token of the kind opens the API, where its scope fits and no target is given. */
function opens(facts: CellFacts): boolean {
  if (facts.kind === 'unknown') return false
  return reasonOf({ ...facts, credential: 'verified', scope: facts.kind, target: 'not_given' }) === 'ALLOWED'
}

/** Whether a conflict puts the value of this cell in doubt. */
function contests({ cells }: NamedConflict, api: string, kind: string): boolean {
  return cells.some((cell) => cell.api === api && cell.kind === kind)
}
