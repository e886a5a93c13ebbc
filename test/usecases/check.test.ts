/** The life of a check, with a real authority: which fault is found first, who is asked, and who listens. */

import { expect, test } from 'vitest'
import {
  type CredentialReason,
  compile,
  type Engine,
  type Matrix,
  type TokenKind,
} from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { UNSCOPED_KIND, type Verification, type Verifier } from '../../sidecar/authority/authority.ts'
import type { IpAddress } from '../../sidecar/base/ip-address.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import type { DecisionListener } from '../../sidecar/usecases/asker.ts'
import { checkClaims, checkCredentials, checkKind, reusableForMs } from '../../sidecar/usecases/check.ts'
import type { CheckOutcome } from '../../sidecar/usecases/questions.ts'
import { ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { openServices, SHIPPED } from '../support/sidecar/services.ts'

const ACCOUNT = '4711'
const START_MS = 17
const { authority, administration, run } = await openServices()
const { secrets } = await applyFile(administration, TESTER, {
  accounts: [
    {
      account: ACCOUNT,
      projects: ['alpha'],
      service_users: [{ name: 'robot', permissions: [{ scope: 'account' }] }],
      control_panel_users: [{ name: 'owner', static_tokens: ['key'] }],
    },
  ],
})
const secretOf = (user: string) => secrets.find((each) => each.user === user)?.value.reveal() ?? ''
const login = { account: ACCOUNT, userName: 'robot', password: new Secret(secretOf('robot')) }
const kindOf = (id: string): TokenKind => SHIPPED.tokenKinds.get(id) as TokenKind
async function issued(kind: TokenKind, project?: string) {
  const { value, token } = await authority.issue(login, kind, {
    account: ACCOUNT,
    ...(project && { project }),
  })
  return { value: value.reveal(), token }
}
const [ofAccount, ofProject, revoked, unscoped] = await Promise.all([
  issued(kindOf(ACCOUNT_KIND)),
  issued(kindOf(PROJECT_KIND), 'alpha'),
  issued(kindOf(ACCOUNT_KIND)),
  issued({ ...kindOf(ACCOUNT_KIND), id: UNSCOPED_KIND }),
])
await administration.directory.change(TESTER, (change) => change.revoke(revoked.token.tokenId, ACCOUNT))
const staticToken = secretOf('owner')

/** The shipped matrix with kinds that travel otherwise. */
const moved = (changes: Readonly<Record<string, Partial<TokenKind>>>): Engine =>
  compile<string, string>({
    ...supportMatrix,
    tokenKinds: supportMatrix.tokenKinds.map((kind) => ({ ...kind, ...changes[kind.id] })),
  } as Matrix)
const APART = moved({ [PROJECT_KIND]: { header: 'X-Project-Token' } })
const PREFIXED = moved({ [PROJECT_KIND]: { prefix: 'prj_' } })

/** The answer of an upstream that is asked beside the directory: a promise, as over a network. */
function beside(verification: Verification) {
  const asked: unknown[] = []
  const verifier: Verifier = {
    recognize: () => undefined,
    verify: async (value, kinds, from) => {
      asked.push([value, kinds, from])
      return verification
    },
  }
  return { verifier, asked }
}
const STRANGE: Verification = { ok: false, reason: 'CREDENTIAL_INVALID' }
const foreign = (kind: string): Verification => ({
  ok: true,
  token: { ...ofAccount.token, kind, authority: 'cloud' },
})

const CONNECTION = {}
/** All events that a listener receives. */
class Ear implements DecisionListener {
  readonly told: unknown[] = []
  startMs = () => START_MS
  ofClaims = (...told: unknown[]) => void this.told.push(['claims', ...told])
  ofKind = (...told: unknown[]) => void this.told.push(['kind', ...told])
  ofCredentials = (...told: unknown[]) => void this.told.push(['credentials', ...told])
  ofOwnToken = () => {}
}

interface Wish {
  readonly engine?: Engine
  readonly clientAddress?: IpAddress
  readonly verifier?: Verifier
  readonly listener?: DecisionListener
}
function check(api: string, headers: Readonly<Record<string, string>>, wish: Wish = {}) {
  const { engine = SHIPPED, verifier = authority, clientAddress, listener } = wish
  const question = { api, headers: Object.entries(headers), target: undefined, clientAddress }
  const asker = { connection: CONNECTION, listener }
  return checkCredentials({ engine, authority, verifier }, question, asker)
}
const IAM = (token: string) => ({ 'X-Auth-Token': token })
const shortly = ({ decision: { reason }, token, verified }: CheckOutcome) => [reason, token?.kind, verified]

test.each<
  [
    claim: string,
    api: string,
    headers: Record<string, string>,
    wish: Wish,
    reason: string,
    kind: string | undefined,
  ]
>([
  ['a token that opens it', 'iam', IAM(ofAccount.value), {}, 'ALLOWED', ACCOUNT_KIND],
  ['a token of a project', 'cdn', IAM(ofProject.value), {}, 'ALLOWED', PROJECT_KIND],
  ['a static token', 'reports', { 'X-Token': staticToken }, {}, 'ALLOWED', STATIC_KIND],
  ['a token of another kind', 'cdn', IAM(ofAccount.value), {}, 'TOKEN_KIND_NOT_ACCEPTED', ACCOUNT_KIND],
  ['an unknown API, whatever else', 'none', {}, {}, 'UNKNOWN_API', undefined],
  ['no credential', 'iam', {}, {}, 'CREDENTIAL_MISSING', undefined],
  ['two', 'iam', { ...IAM(ofAccount.value), 'X-Token': staticToken }, {}, 'CREDENTIAL_AMBIGUOUS', undefined],
  ['a revoked token', 'iam', IAM(revoked.value), {}, 'CREDENTIAL_REVOKED', ACCOUNT_KIND],
  ['text', 'iam', IAM('gibberish'), {}, 'CREDENTIAL_INVALID', undefined],
  ['a static token where IAM tokens are', 'iam', IAM(staticToken), {}, 'WRONG_HEADER', undefined],
  [
    'an IAM token where static ones are',
    'iam',
    { 'X-Token': ofAccount.value },
    {},
    'WRONG_HEADER',
    undefined,
  ],
  [
    'a kind in the header of another kind',
    'iam',
    { 'X-Project-Token': ofAccount.value },
    { engine: APART },
    'WRONG_HEADER',
    ACCOUNT_KIND,
  ],
  [
    'a kind in its own header',
    'cdn',
    { 'X-Project-Token': ofProject.value },
    { engine: APART },
    'ALLOWED',
    PROJECT_KIND,
  ],
  [
    'a kind without its beginning',
    'cdn',
    IAM(ofProject.value),
    { engine: PREFIXED },
    'WRONG_HEADER',
    PROJECT_KIND,
  ],
  [
    'a kind with its beginning',
    'cdn',
    IAM(`prj_${ofProject.value}`),
    { engine: PREFIXED },
    'ALLOWED',
    PROJECT_KIND,
  ],
  ['a kind that no matrix has', 'iam', IAM(unscoped.value), {}, 'UNKNOWN_TOKEN_KIND', UNSCOPED_KIND],
])('%s', async (_claim, api, headers, wish, reason, kind) => {
  // Where another verifier is asked, nothing is known before it answers.
  const outcome = check(api, headers, wish)
  expect(outcome).not.toBeInstanceOf(Promise)
  const isVerified = reason === 'ALLOWED' || reason.startsWith('TOKEN_') || reason.startsWith('UNKNOWN_TOKEN')
  expect(shortly(await outcome)).toEqual([reason, kind, isVerified])
  const ear = new Ear()
  expect(await check(api, headers, { ...wish, listener: ear })).toEqual(await outcome)
  const { engine = SHIPPED } = wish
  const found = engine.apis.has(api) ? engine.extract(Object.entries(headers)) : undefined
  const question = { api, headers: Object.entries(headers), target: undefined, clientAddress: undefined }
  expect(ear.told).toEqual([['credentials', question, found, await outcome, START_MS]])
})

test.each<
  [claim: string, headers: Record<string, string>, verification: Verification, reason: string, asked: boolean]
>([
  ['what it vouches for is decided about', IAM('foreign'), foreign(ACCOUNT_KIND), 'ALLOWED', true],
  ['what it does not know is denied', IAM('foreign'), STRANGE, 'CREDENTIAL_INVALID', true],
  ['a kind of elsewhere is denied', IAM('foreign'), foreign('elsewhere'), 'UNKNOWN_TOKEN_KIND', true],
  [
    'what only a control panel gives is not sent to it',
    { 'X-Token': 'foreign' },
    foreign(STATIC_KIND),
    'CREDENTIAL_INVALID',
    false,
  ],
])('an upstream beside the directory: %s', async (_claim, headers, verification, reason, isAsked) => {
  const { verifier, asked } = beside(verification)
  const outcome = await check('iam', headers, { verifier, clientAddress: '192.0.2.7' })
  expect(outcome.decision.reason).toBe(reason)
  const from = { clientAddress: '192.0.2.7', connection: CONNECTION }
  expect(asked).toEqual(isAsked ? [['foreign', SHIPPED.tokenKinds, from]] : [])
})

test('a token of an upstream is denied where the beginning of its kind is missing', async () => {
  const known = beside({ ok: true, token: ofProject.token })
  const outcome = await check('cdn', IAM('foreign'), { engine: PREFIXED, ...known })
  expect(shortly(outcome)).toEqual(['WRONG_HEADER', PROJECT_KIND, false])
})

test('a denial has the advice about the holder', async () => {
  const reason: CredentialReason = 'CREDENTIAL_EXPIRED'
  const token = { ...ofAccount.token, subject: { id: 'p', name: 'p', type: 'control_panel_user' } }
  const denied = await check('iam', IAM('foreign'), beside({ ok: false, reason, token }))
  expect(denied.decision).toBe(SHIPPED.deny('iam', reason, ACCOUNT_KIND, 'control_panel_user'))
  expect(denied.decision.advice).toHaveLength(1)
  const allowed = await check('iam', IAM('foreign'), beside({ ok: true, token }))
  expect(allowed.decision.advice).toHaveLength(1)
})

test('a listener may give one of its own to a question, and trace the verification', async () => {
  const [own, traced] = [new Ear(), new Ear()]
  let verified = 0
  const listener: DecisionListener = {
    ...new Ear(),
    forOne: () => ({
      ...own,
      verifying: (verify) => {
        verified++
        return verify()
      },
    }),
  }
  const outcome = await check('iam', IAM(ofAccount.value), { listener })
  expect([verified, own.told.length, outcome.decision.reason]).toEqual([1, 1, 'ALLOWED'])
  await check('iam', IAM(ofAccount.value), { listener: traced })
  expect(traced.told).toHaveLength(1)
})

test('of claims only the matrix is asked, and a listener is notified', () => {
  const ear = new Ear()
  const scope = { account: ACCOUNT, project: 'alpha' }
  const question = { api: 'cdn', kind: PROJECT_KIND, scope, target: { account: ACCOUNT, project: 'beta' } }
  const decision = checkClaims({ engine: SHIPPED }, question, ear)
  expect(decision).toBe(SHIPPED.decide(question))
  expect(decision.reason).toBe('PROJECT_MISMATCH')
  expect(checkClaims({ engine: SHIPPED }, { ...question, scope: undefined }, undefined).reason).toBe(
    'INVALID_SCOPE',
  )
  expect(ear.told).toEqual([['claims', question, decision]])
})

test.each([
  ['cdn', PROJECT_KIND, 'ALLOWED'],
  ['cdn', ACCOUNT_KIND, 'TOKEN_KIND_NOT_ACCEPTED'],
  ['iam', ACCOUNT_KIND, 'ALLOWED'],
  ['iam', PROJECT_KIND, 'TOKEN_KIND_NOT_ACCEPTED'],
  ['iam', 'none', 'UNKNOWN_TOKEN_KIND'],
])('%s takes %s, whatever it is bound to: %s', (api, kind, reason) => {
  const ear = new Ear()
  const decision = checkKind({ engine: SHIPPED }, { api, kind }, ear)
  expect(decision.reason).toBe(reason)
  expect(checkKind({ engine: SHIPPED }, { api, kind }, undefined)).toBe(decision)
  expect(ear.told).toEqual([['kind', api, kind, decision]])
})

test.each<[claim: string, expiresAtMs: number | undefined, reusable: number]>([
  ['without an end', undefined, 500],
  ['with one that is far', 1_501, 500],
  ['with one that is near', 1_499, 499],
  ['that ends now', 1_000, 0],
  ['that has ended', 999, 0],
])('an answer about a token %s may be reused', (_claim, expiresAtMs, reusable) => {
  expect(reusableForMs({ ...ofAccount.token, expiresAtMs }, 500, 1_000)).toBe(reusable)
})

test('an address outside those of the account is denied', async () => {
  await run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: ['192.0.2.0/24'] })
  const from = async (clientAddress: IpAddress) =>
    shortly(await check('iam', IAM(ofAccount.value), { clientAddress }))
  expect(await from('192.0.2.7')).toEqual(['ALLOWED', ACCOUNT_KIND, true])
  expect(await from('198.51.100.7')).toEqual(['ADDRESS_NOT_ALLOWED', ACCOUNT_KIND, false])
})
