/**
 * The facts that a question adds to the facts about its cell. The rule distinguishes twenty situations: three
 * scopes with four targets each, and eight faults of the credential.
 */
import type { Scope } from './decision.ts'
import { CREDENTIAL_REASONS, type CredentialReason, type Reason } from './reasons.ts'
import type { Facts } from './rule.ts'

const SCOPES = ['invalid', 'account', 'project'] as const satisfies readonly Facts['scope'][]
const TARGETS = [
  'not_given',
  'same',
  'other_project',
  'other_account',
] as const satisfies readonly Facts['target'][]

/** In the order in which a cell of the table holds their decisions. */
export const SITUATIONS: readonly Pick<Facts, 'credential' | 'scope' | 'target'>[] = Object.freeze([
  ...SCOPES.flatMap((scope) => TARGETS.map((target) => ({ credential: 'verified', scope, target }) as const)),
  ...CREDENTIAL_REASONS.map((credential) => ({ credential, scope: SCOPES[0], target: TARGETS[0] })),
])

/** Where the situations of each scope begin, and those of the faults. */
// Survives: `SCOPES.indexOf('invalid') * TARGETS.length` → `SCOPES.indexOf('invalid') / TARGETS.length`. The
// place of the first is 0.
const INVALID = SCOPES.indexOf('invalid') * TARGETS.length
const ACCOUNT = SCOPES.indexOf('account') * TARGETS.length
const PROJECT = SCOPES.indexOf('project') * TARGETS.length
const FAULTS = SCOPES.length * TARGETS.length

/** The one of those for each target. */
const NOT_GIVEN = TARGETS.indexOf('not_given')
const SAME = TARGETS.indexOf('same')
const OTHER_PROJECT = TARGETS.indexOf('other_project')
const OTHER_ACCOUNT = TARGETS.indexOf('other_account')

/** The situation of a request without a credential. */
export const MISSING = FAULTS + CREDENTIAL_REASONS.indexOf('CREDENTIAL_MISSING')

/** Whether a token opens the cell with these reasons, one in each situation. */
export function isOpen(reasons: readonly Reason[]): boolean {
  const opened = reasons.indexOf('ALLOWED')
  return opened >= 0 && opened < FAULTS
}

/** The situation of a token with that scope. */
export function situationOf(scope: Scope | undefined, target: Scope | undefined): number {
  const level = levelOf(scope)
  // With an invalid scope, nothing can be said about the target.
  // Survives: `level + NOT_GIVEN` → `level - NOT_GIVEN`. The place of the first is 0.
  if (target === undefined || level === INVALID) return level + NOT_GIVEN
  // Survives: `scope?.account` → `scope.account`. A scope that is not there is invalid, and the line before
  // has answered it.
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

/** The situation of a fault of the credential; below 0 for any other reason. */
export function situationOfFault(reason: CredentialReason): number {
  const fault = CREDENTIAL_REASONS.indexOf(reason)
  return fault < 0 ? fault : FAULTS + fault
}
