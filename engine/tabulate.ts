/** Asks the rule about every combination of facts that a matrix can have, and puts the answers where deciding finds them. */
import { Answers, type Column, type Rules } from './answers.ts'
import { ApiRows } from './apis.ts'
import { type Advised, adviceByKind, conflictsByApi } from './conflicts.ts'
import type { AnswerTable, KindColumns } from './decide.ts'
import type { CompiledApi, Decision, NamedConflict } from './decision.ts'
import type { Matrix, TokenKind } from './matrix.ts'
import type { Steps } from './steps.ts'

/**
 * How many places a table may have whose decisions are all built at once: twice those of the source's matrix. With more of them, one is
 * built when it is asked for first. A matrix of 10,000 APIs has 300,000 decisions, most of which nobody ever asks for, and to move so many
 * objects through memory stops the program for tens of milliseconds, again and again.
 */
const BUILT_AHEAD_MAX = 8_192

/** What the answers are made of. */
export interface AnswerSources extends Rules {
  readonly matrix: Matrix
  /** Frozen copies of the rows of the matrix. */
  readonly kinds: readonly TokenKind[]
  readonly conflicts: readonly NamedConflict[]
}

export interface Tabulated {
  readonly table: AnswerTable
  readonly apis: ReadonlyMap<string, CompiledApi>
  /** Whether every answer is built. */
  readonly prebuilt: boolean
  /** Every answer in the table, each once. */
  readonly decisions: () => Iterable<Decision>
}

export function* tabulate(sources: AnswerSources): Steps<Tabulated> {
  const { matrix, strict, kinds, conflicts } = sources
  const { columns, kindColumns, unknownKind } = layOut(kinds, yield* adviceByKind(matrix, conflicts))
  const conflictsOf = yield* conflictsByApi(conflicts)
  const rows = new ApiRows(kinds, strict)
  const made = new Answers(sources, kinds, columns)
  const apis = new Map<string, CompiledApi>()
  const apiRows = new Map<string, number>()
  for (const row of matrix.apis) {
    const { api, reasons } = rows.compile(row, conflictsOf.get(row.id) ?? [])
    apis.set(api.id, api)
    apiRows.set(api.id, apis.size)
    made.add(api, reasons)
    yield
  }
  const { answers, denials: credentialDenials } = made
  const prebuilt = answers.length + credentialDenials.length <= BUILT_AHEAD_MAX
  if (prebuilt) made.buildAll()
  const table = {
    ...{ apiRows, kindColumns, unknownKind, answers, credentialDenials },
    columnCount: columns.length,
    builder: made,
    handles: new Map(),
  }
  return { table, apis, prebuilt, decisions: () => made.decisions() }
}

/** A column for each kind, then one for all unknown kinds, then one for each kind and type of holder with advice. */
function layOut(
  kinds: readonly TokenKind[],
  advice: ReadonlyMap<string, ReadonlyMap<string, Advised>>,
): Pick<AnswerTable, 'kindColumns' | 'unknownKind'> & { readonly columns: readonly Column[] } {
  const columns: Column[] = [...kinds, undefined].map((_, kind) => ({ kind }))
  const kindColumns = new Map<string, KindColumns>()
  for (const [kind, { id }] of kinds.entries()) {
    const further = new Map<string, number>()
    for (const [holder, advised] of advice.get(id) ?? [])
      further.set(holder, columns.push({ kind, advised }) - 1 - kind)
    kindColumns.set(id, { column: kind, furtherForHolder: further.size > 0 ? further : undefined })
  }
  return { columns, kindColumns, unknownKind: { column: kinds.length, furtherForHolder: undefined } }
}
