/** Tokens that made room for others: verified once, and judged as any other at each use. */
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { IamTokenSigner } from '../../sidecar/authority/iam-token.ts'
import { readKeys, withdrawKey } from '../../sidecar/authority/keys.ts'
import { openEmbeddedAuthority } from '../../sidecar/authority/open-authority.ts'
import type { Kinds } from '../../sidecar/authority/own-form.ts'
import { FailedLogins } from '../../sidecar/authority/throttle.ts'
import type { DirectoryChange } from '../../sidecar/directory/change.ts'
import { accountIn, userIn } from '../../sidecar/directory/found.ts'
import { openPeople, SHIPPED } from '../support/sidecar/services.ts'
import { eventually, whenTheFileEnds } from '../support/suite/resources.ts'

const ACCOUNT = '4711'
const clock = { nowMs: 1_800_000_000_000 }
const people = await openPeople(ACCOUNT, () => clock.nowMs)
const ignored = () => {}
/** Another process on the same folder, which remembers one token. */
const opened = await openEmbeddedAuthority({
  ...{ folder: people.folder, engine: () => SHIPPED, rememberedTokens: 1, now: () => clock.nowMs },
  passwordLimits: { concurrent: 2, waiting: 1_000, rememberMs: 0 },
  failedLogins: new FailedLogins({ failures: 1_000, pauseMs: 1 }, () => clock.nowMs),
  ...{ onKeysRefused: ignored, onKeysUnreadable: ignored, onUnknownKey: ignored, keyPollMs: 1 },
  ...{ onDirectoryLost: ignored, onDirectoryReplaced: ignored, onForeignStaticTokens: ignored },
})
whenTheFileEnds(() => opened.close())
const { authority } = opened

const outcomeOf = async (value: string, kinds: Kinds = SHIPPED.tokenKinds) => {
  const verification = await authority.verify(value, kinds, { clientAddress: '192.0.2.7' })
  return verification.ok ? verification.token.subject.name : verification.reason
}

/** Tokens that were all seen, of which all but one made room. */
async function seen(...users: string[]): Promise<string[]> {
  const values: string[] = []
  for (const user of [...users, 'robot']) {
    const { value } = await people.iamToken(user)
    expect(await outcomeOf(value)).toBe(user)
    values.push(value)
  }
  return values.slice(0, -1)
}

test('a token that made room is not verified again, and its directory is not asked', async () => {
  const verify = vi.spyOn(IamTokenSigner.prototype, 'verify')
  const [value = ''] = await seen('robot')
  const count = verify.mock.calls.length
  const asked = vi.spyOn(people.administration.directory.verification, 'iamTokenStatus')
  for (let time = 0; time < 20; time++) expect(await outcomeOf(value)).toBe('robot')
  expect(verify).toHaveBeenCalledTimes(count)
  expect(asked).not.toHaveBeenCalled()
})

test('a changed text of it is not the token', async () => {
  const [value = ''] = await seen('robot')
  for (const changed of [`${value}A`, value.slice(0, -1), value.replace('.', '..')])
    expect(await outcomeOf(changed)).toBe('CREDENTIAL_INVALID')
})

const claimsOf = (value: string) =>
  JSON.parse(Buffer.from(value.split('.')[1] ?? '', 'base64url').toString()) as { readonly jti: string }
const changing = (work: (change: DirectoryChange) => Promise<unknown>) =>
  people.administration.directory.change('a test', work)
const disable = async (change: DirectoryChange) =>
  change.setUserEnabled(await userIn(change.records, ACCOUNT, 'admin', 'service_user'), false)

test.each<
  [what: string, happens: (change: DirectoryChange, id: string) => Promise<unknown>, outcome: string]
>([
  ['is revoked', (change, id) => change.revoke(id, ACCOUNT), 'CREDENTIAL_REVOKED'],
  [
    'may come from elsewhere alone',
    async (change) => change.setAddressRules(await accountIn(change.records, ACCOUNT), ['198.51.100.0/24']),
    'ADDRESS_NOT_ALLOWED',
  ],
  ['loses its user', disable, 'CREDENTIAL_REVOKED'],
])('a token that made room and %s is denied', async (_what, happens, outcome) => {
  const [value = ''] = await seen('admin')
  await changing((change) => happens(change, claimsOf(value).jti))
  for (let time = 0; time < 10; time++) expect(await outcomeOf(value)).toBe(outcome)
  await changing(async (change) => change.setAddressRules(await accountIn(change.records, ACCOUNT), []))
})

test('where its kind asks for another permission, the directory is asked again', async () => {
  const [value = ''] = await seen('robot')
  const kinds = new Map(
    [...SHIPPED.tokenKinds].map(([id, kind]) => [id, { ...kind, permissionScopes: ['projects'] as const }]),
  )
  expect(await outcomeOf(value, kinds)).toBe('CREDENTIAL_REVOKED')
  await seen('robot')
  expect(await outcomeOf(value)).toBe('robot')
})

test('a token whose key was withdrawn is no longer genuine', async () => {
  const [value = ''] = await seen('robot')
  const file = join(people.folder, 'signing-keys.json')
  const active = readKeys(file).find(({ state }) => state === 'active')
  withdrawKey(file, active?.keyId ?? '', clock.nowMs + 20_000)
  await eventually(async () => (await outcomeOf(value)) === 'CREDENTIAL_INVALID')
})
