/**
 * The look-up. `compile` has asked the rule (rule.ts) about every question there can be; deciding picks the answer. In a large matrix the
 * object that says it is built when it is asked for first.
 */
import type { Decision, Question, Scope } from './decision.ts'
import { CREDENTIAL_REASONS, type CredentialReason } from './reasons.ts'
import type { Facts } from './rule.ts'

/**
 * All the answers of an engine. They stand in two lists, and small tables of numbers say where: in a large matrix, each
 * object on the way is a miss of the processor's cache.
 */
export interface AnswerTable {
  /** API → the number of its row. Row 0 is for all APIs that are not in the matrix. */
  readonly apiRows: ReadonlyMap<string, number>
  /** Kind → its columns. */
  readonly kindColumns: ReadonlyMap<string, KindColumns>
  /** The column of all kinds that are not in the matrix. */
  readonly unknownKind: KindColumns
  /** How many columns a row has. */
  readonly columnCount: number
  /** Row by row, column by column: an answer for each of the {@link SITUATIONS}; `undefined`: it is not built yet. */
  readonly answers: readonly (Decision | undefined)[]
  /** Row by row, column by column: a denial for each of the `CREDENTIAL_REASONS`; `undefined`: it is not built yet. */
  readonly credentialDenials: readonly (Decision | undefined)[]
  readonly builder: AnswerBuilder
  /** The handles that were asked for so far, by the number of their cell. */
  readonly handles: Map<number, CellHandle>
}

/** Builds the answers that are not built yet, and puts them into the lists. Cannot fail. */
export interface AnswerBuilder {
  /** The answer for a place in `answers`. */
  answer(place: number): Decision
  /** The denial for a place in `credentialDenials`. */
  denial(place: number): Decision
}

/** Where the answers about a kind stand in each row. */
export interface KindColumns {
  readonly column: number
  /** Type of holder → how many columns further on the same answers stand with the advice about such a holder. */
  readonly furtherForHolder: ReadonlyMap<string, number> | undefined
}

const SCOPES = ['invalid', 'account', 'project'] as const satisfies readonly Facts['scope'][]
const TARGETS = [
  'not_given',
  'same',
  'other_project',
  'other_account',
] as const satisfies readonly Facts['target'][]

/** What a question adds to the facts about its cell. A column holds the answers in this order. */
export const SITUATIONS: readonly Pick<Facts, 'scope' | 'target'>[] = Object.freeze(
  SCOPES.flatMap((scope) => TARGETS.map((target) => ({ scope, target }))),
)

const SITUATION_COUNT = SITUATIONS.length

/** Where the answers for each scope begin in a column. */
const INVALID = SCOPES.indexOf('invalid') * TARGETS.length
const ACCOUNT = SCOPES.indexOf('account') * TARGETS.length
const PROJECT = SCOPES.indexOf('project') * TARGETS.length

/** Which of those answers is for each target. */
const NOT_GIVEN = TARGETS.indexOf('not_given')
const SAME = TARGETS.indexOf('same')
const OTHER_PROJECT = TARGETS.indexOf('other_project')
const OTHER_ACCOUNT = TARGETS.indexOf('other_account')

/** Picks the answer. Total, and allocates nothing. */
export function decide(table: AnswerTable, question: Question): Decision {
  try {
    const row = table.apiRows.get(question.api) ?? 0
    const { column, furtherForHolder } = columnsOf(table, question.kind)
    const cell = row * table.columnCount + column + further(furtherForHolder, question.holder)
    const place = cell * SITUATION_COUNT + situationOf(question.scope, question.target)
    return table.answers[place] ?? table.builder.answer(place)
  } catch {
    // Only a missing question or a hostile getter comes here. What cannot be read names no API.
    return unknownApi(table)
  }
}

/**
 * A cell that was looked up. It carries the table that it leads into, so no other engine takes it. Nobody can forge one:
 * its fields are private to this class, and another copy of this module has another class.
 */
export class CellHandle {
  readonly #table: AnswerTable
  /** Where the answers about the cell begin. */
  readonly #start: number
  readonly #furtherForHolder: KindColumns['furtherForHolder']

  constructor(table: AnswerTable, cell: number, { furtherForHolder }: KindColumns) {
    this.#table = table
    this.#start = cell * SITUATION_COUNT
    this.#furtherForHolder = furtherForHolder
    Object.freeze(this)
  }

  /** Picks the answer about the cell of a handle. For anything but a handle of this table, the API is unknown. */
  static decide(
    table: AnswerTable,
    handle: CellHandle,
    scope: Scope,
    target: Scope | undefined,
    holder: string | undefined,
  ): Decision {
    try {
      if (!(#table in handle) || handle.#table !== table) return unknownApi(table)
      const start = handle.#start + further(handle.#furtherForHolder, holder) * SITUATION_COUNT
      const place = start + situationOf(scope, target)
      return table.answers[place] ?? table.builder.answer(place)
    } catch {
      return unknownApi(table)
    }
  }
}

/** The handle of a cell, the same one each time. A cell that the matrix does not have gets one too. */
export function handleOf(table: AnswerTable, kind: string, api: string): CellHandle {
  const columns = columnsOf(table, kind)
  const cell = (table.apiRows.get(api) ?? 0) * table.columnCount + columns.column
  let handle = table.handles.get(cell)
  if (handle === undefined) {
    handle = new CellHandle(table, cell, columns)
    table.handles.set(cell, handle)
  }
  return handle
}

/** Picks the denial of a credential, with the advice about its holder where kind and holder are known. */
export function deny(
  table: AnswerTable,
  api: string,
  reason: CredentialReason,
  kind: string | undefined,
  holder: string | undefined,
): Decision {
  const { columnCount, unknownKind, credentialDenials, builder } = table
  const firstCell = (table.apiRows.get(api) ?? 0) * columnCount
  const fault = CREDENTIAL_REASONS.indexOf(reason)
  // Another reason is a mistake of the caller. It is denied as an unknown kind.
  if (fault < 0) return builder.answer((firstCell + unknownKind.column) * SITUATION_COUNT)
  const { column, furtherForHolder } = kind === undefined ? unknownKind : columnsOf(table, kind)
  const cell = firstCell + column + further(furtherForHolder, holder)
  const place = cell * CREDENTIAL_REASONS.length + fault
  return credentialDenials[place] ?? builder.denial(place)
}

function columnsOf({ kindColumns, unknownKind }: AnswerTable, kind: string): KindColumns {
  return kindColumns.get(kind) ?? unknownKind
}

function further(forHolder: KindColumns['furtherForHolder'], holder: string | undefined): number {
  if (holder === undefined || forHolder === undefined) return 0
  return forHolder.get(holder) ?? 0
}

function unknownApi({ builder }: AnswerTable): Decision {
  return builder.answer(0)
}

/** The place of a scope and a target among the {@link SITUATIONS}. */
function situationOf(scope: Scope | undefined, target: Scope | undefined): number {
  const level = levelOf(scope)
  // With an invalid scope, nothing can be said about the target.
  if (target === undefined || level === INVALID) return level + NOT_GIVEN
  if (levelOf(target) === INVALID || target.account !== scope?.account) return level + OTHER_ACCOUNT
  return level + (target.project === scope.project ? SAME : OTHER_PROJECT)
}

/** An account is a non-empty string; a project is absent, or a non-empty string too. */
function levelOf(scope: Scope | undefined): number {
  if (typeof scope !== 'object' || scope === null) return INVALID
  const { account, project } = scope
  if (typeof account !== 'string' || account === '') return INVALID
  if (project === undefined) return ACCOUNT
  return typeof project === 'string' && project !== '' ? PROJECT : INVALID
}
