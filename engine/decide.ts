/** The rule, whole. Every answer was built by `compile`; deciding picks one. */
import type { Decision, Question, Scope } from './decision.ts'
import type { CredentialReason } from './reasons.ts'

/** Everything there is to answer, by API. */
export interface Answers {
  readonly rows: ReadonlyMap<string, Row>
  /** Kind → the place of its cell in every row: one small table for all, where a table a row would be far apart in memory. */
  readonly places: ReadonlyMap<string, number>
  readonly unknownApi: Decision
  /** Every cell by its handle less `firstHandle`: the one of unknown APIs, then row by row, a row's unknown kinds last. */
  readonly cells: readonly Cell[]
  readonly firstHandle: number
}

/** The answers for one API. */
export interface Row {
  /** One a kind, at the kind's place. */
  readonly cells: readonly Cell[]
  /** Where they begin among all cells. */
  readonly firstCell: number
  readonly unknownKind: Decision
  readonly faults: ReadonlyMap<CredentialReason, Decision>
}

/** The answers for one API and one kind. */
export interface Cell {
  /** Whether tokens of the kind are bound to a project. */
  readonly projectBound: boolean
  readonly invalidScope: Decision
  /** What the matrix says. */
  readonly verdict: Decision
  /** Whether it allows: only then the target is looked at. */
  readonly open: boolean
  readonly accountMismatch: Decision
  readonly projectMismatch: Decision
  /** The same answers with advice, for the types of holder that the source gives advice about. */
  readonly advised: ReadonlyMap<string, Cell> | undefined
}

/** Picks the answer, in descending precedence of the reasons. Total, and allocates nothing. */
export function decide(answers: Answers, question: Question): Decision {
  try {
    const row = answers.rows.get(question.api)
    if (row === undefined) return answers.unknownApi
    const place = answers.places.get(question.kind)
    if (place === undefined) return row.unknownKind
    return judge(row.cells[place] as Cell, question.scope, question.target, question.holder)
  } catch {
    // Only a missing question or a hostile getter comes here. What cannot be read names no API.
    return answers.unknownApi
  }
}

/** The same for a cell that was looked up before. */
export function decideAt(
  answers: Answers,
  handle: number,
  scope: Scope,
  target?: Scope,
  holder?: string,
): Decision {
  try {
    const cell = answers.cells[handle - answers.firstHandle]
    return cell === undefined ? answers.unknownApi : judge(cell, scope, target, holder)
  } catch {
    return answers.unknownApi
  }
}

/** The handle of a cell. What the matrix does not know has one too, with the denial that says so. */
export function handleOf(answers: Answers, kind: string, api: string): number {
  const row = answers.rows.get(api)
  const place = row && row.firstCell + (answers.places.get(kind) ?? row.cells.length)
  return answers.firstHandle + (place ?? 0)
}

/** A cell with one answer to every question. */
export function alike(decision: Decision): Cell {
  return {
    projectBound: false,
    invalidScope: decision,
    verdict: decision,
    open: decision.allowed,
    accountMismatch: decision,
    projectMismatch: decision,
    advised: undefined,
  }
}

/** What a cell answers, from the token's scope on. */
function judge(found: Cell, scope: Scope, target: Scope | undefined, holder: string | undefined): Decision {
  let cell = found
  if (holder !== undefined && cell.advised !== undefined) cell = cell.advised.get(holder) ?? cell
  if (!isScope(scope)) return cell.invalidScope
  if ((scope.project !== undefined) !== cell.projectBound) return cell.invalidScope

  if (target === undefined || !cell.open) return cell.verdict
  if (!isScope(target) || target.account !== scope.account) return cell.accountMismatch
  if (cell.projectBound && target.project !== scope.project) return cell.projectMismatch
  return cell.verdict
}

/** Picks the denial for a credential that never became a token. An unknown API takes precedence. */
export function deny(answers: Answers, api: string, reason: CredentialReason): Decision {
  const row = answers.rows.get(api)
  if (row === undefined) return answers.unknownApi
  // A reason that is none is a mistake of the caller's, and still a denial.
  return row.faults.get(reason) ?? row.unknownKind
}

/** An account that is a non-empty string, and a project that is absent or one too. */
function isScope(scope: Scope): boolean {
  if (typeof scope !== 'object' || scope === null) return false
  const { account, project } = scope
  if (typeof account !== 'string' || account === '') return false
  return project === undefined || (typeof project === 'string' && project !== '')
}
