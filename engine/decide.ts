/** The rule, whole. Every answer was built by `compile`; deciding picks one. */
import type { Decision, Question, Scope } from './decision.ts'
import type { CredentialReason } from './reasons.ts'

/** Everything there is to answer, by API. */
export interface Answers {
  readonly rows: ReadonlyMap<string, Row>
  /** Kind → the place of its cell in every row: one small table for all, where a table a row would be far apart in memory. */
  readonly places: ReadonlyMap<string, number>
  readonly unknownApi: Decision
}

/** The answers for one API. */
export interface Row {
  /** One a kind, at the kind's place. */
  readonly cells: readonly Cell[]
  readonly unknownKind: Decision
  readonly faults: ReadonlyMap<CredentialReason, Decision>
}

/** The answers for one API and one kind. */
export interface Cell {
  /** Whether tokens of the kind are bound to a project. */
  readonly projectBound: boolean
  readonly invalidScope: Decision
  /** What the matrix says. Only where it allows, the target is looked at. */
  readonly verdict: Decision
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
    let cell = row.cells[place] as Cell
    const { holder } = question
    if (holder !== undefined && cell.advised !== undefined) cell = cell.advised.get(holder) ?? cell

    const scope = question.scope
    if (!isScope(scope)) return cell.invalidScope
    if ((scope.project !== undefined) !== cell.projectBound) return cell.invalidScope

    if (!cell.verdict.allowed) return cell.verdict

    const target = question.target
    if (target === undefined) return cell.verdict
    if (!isScope(target) || target.account !== scope.account) return cell.accountMismatch
    if (cell.projectBound && target.project !== scope.project) return cell.projectMismatch
    return cell.verdict
  } catch {
    // Only a missing question or a hostile getter comes here. What cannot be read names no API.
    return answers.unknownApi
  }
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
