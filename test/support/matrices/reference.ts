/**
 * A second, naive implementation of the decision, written from DESIGN §5 alone: it notes every fault of a
 * question and reports the first by precedence. Slow and obvious; the engine is compared with it.
 */
import {
  type AcceptedKind,
  type Api,
  firstPlace,
  type Matrix,
  type Question,
  type Scope,
  type TokenKind,
} from '../../../engine/index.ts'

/**
 * The reasons of DESIGN §5, in its order. Written out once more, because the engine's own list is under test.
 */
export const PRECEDENCE = [
  'UNKNOWN_API',
  'CREDENTIAL_MISSING',
  'CREDENTIAL_AMBIGUOUS',
  'CREDENTIAL_MALFORMED',
  'WRONG_HEADER',
  'CREDENTIAL_INVALID',
  'CREDENTIAL_EXPIRED',
  'CREDENTIAL_REVOKED',
  'ADDRESS_NOT_ALLOWED',
  'UNKNOWN_TOKEN_KIND',
  'INVALID_SCOPE',
  'TOKEN_KIND_NOT_ACCEPTED',
  'CONTESTED',
  'ACCOUNT_MISMATCH',
  'PROJECT_MISMATCH',
  'ALLOWED',
] as const

/** The reference's answer to a question, as far as DESIGN §5 fixes it. */
export interface ReferenceDecision {
  readonly allowed: boolean
  readonly reason: string
  readonly header: string
  readonly accepted: readonly AcceptedKind[]
  readonly advice: readonly string[]
}

/** The first fault by precedence; allowed where there is none. Expects scopes that are objects of strings. */
export function referenceDecision(matrix: Matrix, strict: boolean, question: Question): ReferenceDecision {
  const reason = firstOf(faultsOf(matrix, strict, question))
  const api = matrix.apis.find((row) => row.id === question.api)
  const kind = matrix.tokenKinds.find((row) => row.id === question.kind)
  const known = api !== undefined && kind !== undefined
  return {
    allowed: reason === 'ALLOWED',
    reason,
    header: known ? firstPlace(kind).header : '',
    accepted: reason === 'ALLOWED' || api === undefined ? [] : acceptedKinds(matrix, strict, api),
    advice: known ? adviceFor(matrix, kind, question.holder) : [],
  }
}

export function firstOf(faults: ReadonlySet<string>): string {
  return PRECEDENCE.find((reason) => faults.has(reason)) ?? 'ALLOWED'
}

function faultsOf(matrix: Matrix, strict: boolean, { api, kind, scope, target }: Question): Set<string> {
  const faults = new Set<string>()
  const apiRow = matrix.apis.find((row) => row.id === api)
  const kindRow = matrix.tokenKinds.find((row) => row.id === kind)
  if (apiRow === undefined) faults.add('UNKNOWN_API')
  if (kindRow === undefined) faults.add('UNKNOWN_TOKEN_KIND')
  if (kindRow !== undefined && !scopeFits(kindRow, scope)) faults.add('INVALID_SCOPE')
  if (apiRow !== undefined && kindRow !== undefined) {
    if (!matrixAccepts(matrix, apiRow, kindRow)) faults.add('TOKEN_KIND_NOT_ACCEPTED')
    if (strict && isContested(matrix, apiRow, kindRow)) faults.add('CONTESTED')
  }
  if (target !== undefined && target.account !== scope.account) faults.add('ACCOUNT_MISMATCH')
  if (target !== undefined && kindRow?.scopeLevel === 'project' && target.project !== scope.project)
    faults.add('PROJECT_MISMATCH')
  return faults
}

function scopeFits(kind: TokenKind, { account, project }: Scope): boolean {
  if (account === '' || project === '') return false
  return kind.scopeLevel === 'project' ? project !== undefined : project === undefined
}

/** The table rules, unless a conflict that names the cell is resolved for the prose (DESIGN §4). */
function matrixAccepts(matrix: Matrix, api: Api, kind: TokenKind): boolean {
  const printed = api.accepts.includes(kind.id)
  const forProse = matrix.conflicts.some(
    (conflict) =>
      conflict.resolution === 'prose' &&
      conflict.cells.some((cell) => cell.api === api.id && cell.kind === kind.id),
  )
  return forProse ? !printed : printed
}

function isContested(matrix: Matrix, api: Api, kind: TokenKind): boolean {
  return matrix.conflicts.some((conflict) =>
    conflict.cells.some((cell) => cell.api === api.id && cell.kind === kind.id),
  )
}

function acceptedKinds(matrix: Matrix, strict: boolean, api: Api): AcceptedKind[] {
  return matrix.tokenKinds
    .filter((kind) => matrixAccepts(matrix, api, kind) && !(strict && isContested(matrix, api, kind)))
    .map(({ id, obtained: { by }, ...kind }) => ({
      ...{ kind: id, header: firstPlace(kind).header, issuable: by === 'issue', obtained: by },
    }))
}

function adviceFor(matrix: Matrix, kind: TokenKind, holder: string | undefined): string[] {
  return matrix.statements.flatMap(({ claim }) =>
    claim.type === 'advice' && claim.kinds.includes(kind.id) && claim.holder === holder ? [claim.text] : [],
  )
}
