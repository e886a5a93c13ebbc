/**
 * Reads what an identity endpoint says of a token, and believes nothing that is not exactly as expected
 * (§4.1). Faults are described in words. No message quotes the answer, which may hold a token.
 */
import { hash } from 'node:crypto'
import type { Scope } from '../../../engine/index.ts'
import { readJson } from '../../../matrix/document/index.ts'
import { isName, NAME_EXPECTED, NAME_LENGTH_MAX } from '../../base/name.ts'
import { isTimeMs, readTime, TIME_RANGE } from '../../base/written-time.ts'
import type { Answer } from './identity-client.ts'

/** A token as its issuer describes it. */
export interface DescribedToken {
  /** Identifies it without revealing it. */
  readonly id: string
  readonly scope: Scope
  readonly projectId: string | undefined
  readonly subject: { readonly id: string; readonly name: string }
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  readonly roles: readonly string[]
  readonly catalog: readonly unknown[] | undefined
}

/** The answer is not as expected. The message completes `expected …`. */
export class AnswerFault extends Error {}

/**
 * Longest token that is accepted, in characters. Some clouds document up to 100,000, and the headers of an
 * answer have room for twice as many.
 */
export const TOKEN_LENGTH_MAX = 131_072

const ROLES_MAX = 1_000

/** Lifetime of a token whose answer has no body (§1), in milliseconds. */
const LIFETIME_MS = 86_400_000

/** The user of a login, and its scope. */
export interface Asked {
  /** `undefined`: an application credential, whose answer must have a body that names its user and scope. */
  readonly userName: string | undefined
  readonly scope: Scope
}

/**
 * The token of an answer to a login: from the header alone where there is no body, as the source does not
 * show one.
 *
 * @throws AnswerFault
 */
export function readIssuedToken(
  answer: Answer,
  asked: Asked,
  nowMs: number,
): { readonly value: string; readonly described: DescribedToken } {
  if (answer.status !== 201) throw new AnswerFault(`status 201, found ${answer.status}`)
  const value = subjectToken(answer)
  const { userName } = asked
  if (answer.body === '' && userName !== undefined)
    return { value, described: withoutBody(value, answer, { ...asked, userName }, nowMs) }
  const described = readDescription(answer.body, value, nowMs, lifetimeOf(answer, nowMs).expiresAtMs)
  const { scope } = described
  if (scope.account !== asked.scope.account || scope.project !== asked.scope.project)
    throw new AnswerFault('a token for the scope that was asked for, found another scope')
  return { value, described }
}

/**
 * The token of an answer to a question about it.
 *
 * @param value the token that was asked about
 * @throws AnswerFault
 */
export function readValidatedToken(answer: Answer, value: string, nowMs: number): DescribedToken {
  if (answer.status !== 200 && answer.status !== 203)
    throw new AnswerFault(`status 200 or 404, found ${answer.status}`)
  const { 'x-subject-token': echoed } = answer.headers
  if (echoed !== undefined && echoed !== value)
    throw new AnswerFault('an answer about the token that was asked about, found another one')
  return readDescription(answer.body, value, nowMs)
}

function subjectToken({ headers: { 'x-subject-token': value } }: Answer): string {
  if (value === undefined || value === '') throw new AnswerFault('a token in X-Subject-Token, found none')
  // Proxies join headers that are repeated with commas.
  if (typeof value !== 'string' || value.includes(','))
    throw new AnswerFault('one token in X-Subject-Token, found several')
  if (value.length > TOKEN_LENGTH_MAX)
    throw new AnswerFault(
      `a token of at most ${TOKEN_LENGTH_MAX} characters in X-Subject-Token, found ${value.length}`,
    )
  if (!/^[\x21-\x7e]+$/.test(value)) throw new AnswerFault('visible ASCII in X-Subject-Token')
  return value
}

function withoutBody(
  value: string,
  answer: Answer,
  asked: Asked & { readonly userName: string },
  nowMs: number,
): DescribedToken {
  const { issuedAtMs, expiresAtMs } = lifetimeOf(answer, nowMs)
  expectFuture(expiresAtMs, nowMs)
  return {
    id: digestId(value),
    scope: asked.scope,
    projectId: undefined,
    subject: { id: '', name: asked.userName },
    issuedAtMs,
    expiresAtMs,
    roles: [],
    catalog: undefined,
  }
}

/** The lifetime of a token whose answer does not have it: 24 hours from the answer. */
function lifetimeOf(
  { headers: { date } }: Answer,
  nowMs: number,
): { readonly issuedAtMs: number; readonly expiresAtMs: number } {
  const dateMs = Date.parse(String(date))
  const issuedAtMs = isTimeMs(dateMs + LIFETIME_MS) ? dateMs : nowMs
  return { issuedAtMs, expiresAtMs: issuedAtMs + LIFETIME_MS }
}

/** @param otherwiseMs when the token expires if the body does not say; `undefined`: the body must say */
function readDescription(body: string, value: string, nowMs: number, otherwiseMs?: number): DescribedToken {
  // Survives: `{ firstProblem: true }` → `{}`, `true` → `false`. It only spares to look for further problems,
  // which are not reported.
  const reading = readJson(body, { firstProblem: true })
  if (!reading.ok) throw new AnswerFault('a body of JSON with each key once')
  const token = object(object(reading.value, 'a JSON object').token, 'an object in `token`')
  const user = object(token.user, 'an object in `token.user`')
  const expiresAtMs =
    token.expires_at === undefined && otherwiseMs !== undefined
      ? otherwiseMs
      : time(token.expires_at, 'token.expires_at')
  expectFuture(expiresAtMs, nowMs)
  rejectRestricted(token)
  return {
    id: idOf(token.audit_ids, value),
    ...scopeOf(token),
    subject: { id: text(user.id, 'token.user.id'), name: text(user.name, 'token.user.name') },
    issuedAtMs: token.issued_at === undefined ? nowMs : time(token.issued_at, 'token.issued_at'),
    expiresAtMs,
    roles: rolesOf(token.roles),
    catalog: Array.isArray(token.catalog) ? token.catalog : undefined,
  }
}

type JsonObject = Readonly<Record<string, unknown>>

function scopeOf(token: JsonObject): Pick<DescribedToken, 'scope' | 'projectId'> {
  const { domain, project, system } = token
  if (system !== undefined)
    throw new AnswerFault('a token for an account or a project, found one for the system')
  if ((domain === undefined) === (project === undefined))
    throw new AnswerFault(
      `exactly one of \`token.domain\` and \`token.project\`, found ${domain === undefined ? 'neither' : 'both'}`,
    )
  if (domain !== undefined) {
    const account = text(object(domain, 'an object in `token.domain`').name, 'token.domain.name')
    return { scope: { account }, projectId: undefined }
  }
  const { name, id, domain: owner, is_domain: isDomain } = object(project, 'an object in `token.project`')
  const isAccount = isDomain === true || token.is_domain === true
  if (isAccount) throw new AnswerFault('a project in `token.project`, found an account')
  const account = object(owner, 'an object in `token.project.domain`')
  return {
    scope: {
      account: text(account.name, 'token.project.domain.name'),
      project: text(name, 'token.project.name'),
    },
    projectId: text(id, 'token.project.id'),
  }
}

/** Such a token opens less than its scope says, and nothing here could hold it to that. */
function rejectRestricted(token: JsonObject): void {
  const { application_credential: credential } = token
  if (credential === undefined) return
  const { access_rules: rules } = object(credential, 'an object in `token.application_credential`')
  if (rules !== undefined) throw new AnswerFault('a token without access rules')
}

function rolesOf(roles: unknown): string[] {
  if (roles === undefined) return []
  if (!Array.isArray(roles) || roles.length > ROLES_MAX)
    throw new AnswerFault(`a list of at most ${ROLES_MAX} in \`token.roles\``)
  return roles.map((role, index) =>
    text(object(role, `an object in \`token.roles[${index}]\``).name, `token.roles[${index}].name`),
  )
}

/** Keystone gives a token an audit id of 22 characters, the first of the list. */
function idOf(auditIds: unknown, value: string): string {
  const first: unknown = Array.isArray(auditIds) ? auditIds[0] : undefined
  return typeof first === 'string' && /^[\w-]{22}$/.test(first) ? first : digestId(value)
}

function digestId(value: string): string {
  return hash('sha256', value, 'base64url').slice(0, 22)
}

function expectFuture(expiresAtMs: number, nowMs: number): void {
  if (expiresAtMs <= nowMs)
    throw new AnswerFault(
      `a token that expires later than now, found one that expired ${Math.round((nowMs - expiresAtMs) / 1000)} s ago by the clock of this host`,
    )
}

/** Its fields. As everywhere in Keystone, one that is `null` is absent. */
function object(value: unknown, expected: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new AnswerFault(expected)
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null))
}

/** A name or an id, which is shown and compared as names are. */
function text(value: unknown, path: string): string {
  if (typeof value !== 'string' || value === '' || value.length > NAME_LENGTH_MAX)
    throw new AnswerFault(`a text of 1 to ${NAME_LENGTH_MAX} characters in \`${path}\``)
  if (!isName(value)) throw new AnswerFault(`a text ${NAME_EXPECTED}, in \`${path}\``)
  return value
}

function time(value: unknown, path: string): number {
  const time = readTime(value)
  if (time === undefined) throw new AnswerFault(`a time with its zone ${TIME_RANGE}, in \`${path}\``)
  return time.ms
}
