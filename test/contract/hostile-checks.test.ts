/**
 * Checks at random, with claims and with credentials, genuine and damaged: none is allowed that the source's
 * table denies. By hand, for as long as you like: CHECKS=5300000 npx vitest run
 * test/contract/hostile-checks.test.ts
 */
import { expect, test } from 'vitest'
import type { CheckAnswer } from '../../clients/typescript/index.ts'
import type { Scope } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { cells, printedApis, printedKinds } from '../support/matrices/oracle.ts'
import { referenceDecision } from '../support/matrices/reference.ts'
import { ACCOUNT, issued, OTHER_ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'

const CHECKS = Number(process.env.CHECKS ?? 6_000)
const SEED = Number(process.env.CHECKS_SEED ?? 1)
/** Checks in one call. */
const BATCH = 1_000

const running = await runSidecar()
const secrets = await populate(running)

const random = randomFrom(SEED)
const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
const opening = new Set(cells().flatMap(({ api, kind, accepted }) => (accepted ? [`${api} ${kind}`] : [])))

/** A token that was issued, and what the table must say of it. */
interface Genuine {
  readonly header: string
  readonly value: string
  readonly kind: string
  readonly scope: Scope
}

const account = { account: ACCOUNT }
const ofProject = { account: ACCOUNT, project: 'alpha' }
const GENUINE: readonly Genuine[] = [
  {
    header: 'X-Auth-Token',
    value: (await issued(running, secrets)).value,
    kind: 'iam_token_account_scoped',
    scope: account,
  },
  {
    header: 'X-Auth-Token',
    value: (await issued(running, secrets, { project: 'alpha', user: 'alpha' })).value,
    kind: 'iam_token_project_scoped',
    scope: ofProject,
  },
  { header: 'X-Token', value: secrets.staticToken, kind: 'static_token', scope: account },
]

const near = (id: string) => [`${id} `, id.toUpperCase(), id.slice(1), `${id}\u200b`, `${id}.`]
const APIS = [...printedApis(), ...printedApis().slice(0, 5).flatMap(near), '__proto__', 'constructor']
const KINDS = [...printedKinds(), ...printedKinds().flatMap(near), 'toString']
const SCOPES: readonly Scope[] = [
  account,
  ofProject,
  { account: ACCOUNT, project: 'beta' },
  { account: OTHER_ACCOUNT },
  { account: OTHER_ACCOUNT, project: 'alpha' },
  { account: `${ACCOUNT} ` },
]
const HEADERS = [
  ...['X-Auth-Token', 'x-auth-token', 'X-Token', 'x-token', 'X-AUTH-TOKEN'],
  ...['X_Auth_Token', 'X-Auth-Token ', 'Authorization', 'Cookie', 'X-Subject-Token', ''],
]

/** A token with a fault. Each is another text than the token. */
const DAMAGES: readonly ((value: string) => string)[] = [
  (value) => value.slice(0, -1 - Math.floor(random() * 20)),
  (value) => value + oneOf(['=', 'A', '.', '\0', '\u00a0', value]),
  (value) => `Bearer ${value}`,
  (value) => changed(value, Math.floor(random() * value.length)),
  (value) => changed(value, value.length - 1),
  (value) => value.split('.').reverse().join('.') + oneOf(['', '.']).padEnd(1, 'x'),
  (value) => `${value},${oneOf(GENUINE).value}`,
  (value) => (value.toUpperCase() === value ? '' : value.toUpperCase()),
]

const CHARACTERS = [...'ABCXYZabcxyz0189-_.+/=']

function changed(value: string, at: number): string {
  const another = oneOf(CHARACTERS.filter((character) => character !== value[at]))
  return value.slice(0, at) + another + value.slice(at + 1)
}

type Drawn = { readonly api: string; readonly target?: Scope } & (
  | { readonly token: { readonly kind: string; readonly scope: Scope } }
  | { readonly credentials: readonly [name: string, value: string][] }
)

function drawnCheck(): Drawn {
  const api = oneOf(APIS)
  const target = random() < 0.5 ? { target: oneOf(SCOPES) } : {}
  if (random() < 0.4) return { api, token: { kind: oneOf(KINDS), scope: oneOf(SCOPES) }, ...target }
  const headers = Array.from({ length: random() < 0.8 ? 1 : 2 }, (): [string, string] => {
    const { header, value } = oneOf(GENUINE)
    return [random() < 0.6 ? header : oneOf(HEADERS), random() < 0.5 ? value : oneOf(DAMAGES)(value)]
  })
  return { api, credentials: headers, ...target }
}

/** Why the check must not be allowed; `undefined`: it may. */
function objection(check: Drawn): string | undefined {
  const { api, target } = check
  if ('token' in check) {
    const { kind, scope } = check.token
    const { reason } = referenceDecision(supportMatrix, false, {
      api,
      kind,
      scope,
      ...(target && { target }),
    })
    return reason === 'ALLOWED' && opening.has(`${api} ${kind}`) ? undefined : reason
  }
  const shown = GENUINE.filter(({ header, value }) =>
    check.credentials.some(([name, text]) => name.toLowerCase() === header.toLowerCase() && text === value),
  )
  const opens = shown.some(
    ({ kind, scope }) =>
      opening.has(`${api} ${kind}`) &&
      (target === undefined ||
        (target.account === scope.account &&
          (scope.project === undefined || scope.project === target.project))),
  )
  return opens ? undefined : 'no genuine token in its header opens the API for the target'
}

test(`${CHECKS} checks at random: nothing is allowed that the table denies`, { timeout: 0 }, async () => {
  const reasons = new Map<string, number>()
  for (let done = 0; done < CHECKS; done += BATCH) {
    const checks = Array.from({ length: BATCH }, drawnCheck)
    const answers: readonly CheckAnswer[] = await running.client.checkBatch(checks)
    for (const [index, { allowed, reason }] of answers.entries()) {
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
      const check = checks[index] as Drawn
      const objected = objection(check)
      const where = `seed ${SEED}, check ${done + index}: ${JSON.stringify(check)}`
      if (allowed && objected !== undefined) throw new Error(`${where} is allowed, but ${objected}`)
      if ('token' in check && reason !== (objected ?? 'ALLOWED'))
        throw new Error(`${where} gets ${reason} instead of ${objected ?? 'ALLOWED'}`)
    }
  }
  // Every fault was among them, and what is in order was allowed.
  for (const reason of [
    'ALLOWED',
    'WRONG_HEADER',
    'CREDENTIAL_INVALID',
    'CREDENTIAL_AMBIGUOUS',
    'INVALID_SCOPE',
  ])
    expect([...reasons.keys()]).toContain(reason)
})
