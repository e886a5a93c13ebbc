/** The rule, whole. Every answer was built by `compile`; deciding picks one. */
import type { Decision, Question, Scope } from './decision.ts'
import type { CredentialReason } from './reasons.ts'

/**
 * Everything there is to answer. All cells stand in one list, which two small tables of numbers lead into: in a large matrix
 * each object on the way is a miss of the processor's cache.
 */
export interface Answers {
  /** First the cell of every API that is not known; then API by API a cell for each kind, and one for all other kinds. */
  readonly cells: readonly Cell[]
  /** API → where its cells begin. */
  readonly rows: ReadonlyMap<string, number>
  /** Kind → the place of its cell among those of an API. */
  readonly places: ReadonlyMap<string, number>
  /** The denials of credentials that are no good, by API. */
  readonly faults: ReadonlyMap<string, Faults>
  /** Those among them that have advice: kind → type of holder → by API. */
  readonly advisedFaults: ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, Faults>>>
  /** What is added to the place of a cell in the list to make its handle. */
  readonly firstHandle: number
}

export type Faults = ReadonlyMap<CredentialReason, Decision>

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
    const cell = answers.cells[placeOf(answers, question.kind, question.api)] as Cell
    return judge(cell, question.scope, question.target, question.holder)
  } catch {
    // Only a missing question or a hostile getter comes here. What cannot be read names no API.
    return unknownApi(answers)
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
    return cell === undefined ? unknownApi(answers) : judge(cell, scope, target, holder)
  } catch {
    return unknownApi(answers)
  }
}

/** The handle of a cell. What the matrix does not know has one too, with the denial that says so. */
export function handleOf(answers: Answers, kind: string, api: string): number {
  return answers.firstHandle + placeOf(answers, kind, api)
}

/** Picks the denial for a credential that is no good, as far as it is known whose it is. An unknown API takes precedence. */
export function deny(
  answers: Answers,
  api: string,
  reason: CredentialReason,
  kind?: string,
  holder?: string,
): Decision {
  const { cells, rows, places, faults, advisedFaults } = answers
  const row = rows.get(api)
  if (row === undefined) return unknownApi(answers)
  const advised =
    kind === undefined || holder === undefined ? undefined : advisedFaults.get(kind)?.get(holder)?.get(api)
  // A reason that is none is a mistake of the caller's, and still a denial.
  return advised?.get(reason) ?? faults.get(api)?.get(reason) ?? (cells[row + places.size] as Cell).verdict
}

function placeOf({ rows, places }: Answers, kind: string, api: string): number {
  const row = rows.get(api)
  return row === undefined ? 0 : row + (places.get(kind) ?? places.size)
}

function unknownApi({ cells }: Answers): Decision {
  return (cells[0] as Cell).verdict
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

/** An account that is a non-empty string, and a project that is absent or one too. */
function isScope(scope: Scope): boolean {
  if (typeof scope !== 'object' || scope === null) return false
  const { account, project } = scope
  if (typeof account !== 'string' || account === '') return false
  return project === undefined || (typeof project === 'string' && project !== '')
}
