/** A sidecar without a directory, and the one that it follows: both are real. */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readKeys, withdrawKey } from '../../sidecar/authority/keys.ts'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox, type Message, refusalOf } from '../support/contract/black-box.ts'
import { done, newBackup } from '../support/processes/backup.ts'
import { ACCOUNT, issued, OTHER_ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile } from '../support/suite/resources.ts'

const FOLLOWER = 'follower-caller-token-0123456789abcdef'
const CLERK = 'clerk-caller-token-0123456789abcdef'
const CALLERS = `callers:
  - { name: follower, token_file: ${newFile(FOLLOWER)}, rights: [follow] }
  - { name: clerk, token_file: ${newFile(CLERK)}, rights: [everything] }
`

async function startHub() {
  const hub = await runSidecar({ config: newFile(CALLERS, 'portcullis.yaml') })
  return { hub, secrets: await populate(hub) }
}

/** @param given addresses of hubs, and the data folder where there is one */
async function startFollower(...given: readonly string[]) {
  const folder = given.find((each) => each.startsWith('/'))
  const addresses = given.filter((each) => each !== folder)
  const config = `${CALLERS}directory:
  staleness_ms: 2000
  timeout_ms: 60000
  hub: { addresses: [${addresses.map((address) => `'${address}'`)}], token_file: ${newFile(FOLLOWER)} }
`
  const running = await runSidecar({
    ...{ config: newFile(config, 'portcullis.yaml'), ...(folder && { folder }) },
    flags: { 'http.address': '127.0.0.1:0' },
  })
  const box = new BlackBox(running.address)
  const check = async (value: string) => {
    const header = value.startsWith('eyJ') ? 'X-Auth-Token' : 'X-Token'
    const answer = (await box.ask('check', credentialQuestion('balance', header, value))) as Message
    return answer.reason
  }
  return { running, box, check }
}

const { hub, secrets } = await startHub()
const follower = await startFollower(hub.address)

describe('a sidecar that follows another one', () => {
  test('answers for its tokens, with what the hub knows of them', async () => {
    const { value, tokenId } = await issued(hub, secrets)
    expect(await follower.check(value)).toBe('REASON_ALLOWED')
    expect(await follower.check(secrets.staticToken)).not.toBe('REASON_CREDENTIAL_INVALID')
    const question = credentialQuestion('balance', 'X-Auth-Token', value)
    const answers = await Promise.all(
      [hub, follower.running].map(({ address }) => new BlackBox(address).ask('check', question)),
    )
    // It names keys by what the hub names them.
    const [ofHub, own] = answers.map(({ position, ...answer }) => ({
      ...answer,
      position: { ...(position as object), basis: undefined },
    }))
    expect(own).toEqual(ofHub)
    expect(own).toMatchObject({ token: { token_id: tokenId }, verified: true })
  })

  test('denies a token that is revoked at the hub, soon', async () => {
    const { value } = await issued(hub, secrets)
    expect(await follower.check(value)).toBe('REASON_ALLOWED')
    await hub.client.revoke({ value })
    await eventually(async () => (await follower.check(value)) === 'REASON_CREDENTIAL_REVOKED')
  })

  test('denies tokens that are not genuine', async () => {
    const { value } = await issued(hub, secrets)
    expect(await follower.check(`${value.slice(0, -4)}AAAA`)).toBe('REASON_CREDENTIAL_INVALID')
  })

  test('forwards logins, revocations and administration, with what each presents', async () => {
    const { value, tokenId } = await issued(follower.running, secrets)
    expect(await follower.check(value)).toBe('REASON_ALLOWED')
    await follower.running.client.revoke({ value })
    await eventually(async () => (await follower.check(value)) === 'REASON_CREDENTIAL_REVOKED')
    const clerk = follower.running.connect({ callerToken: CLERK })
    const { accounts } = await clerk.directory.listAccounts({})
    expect(accounts.map(({ account }) => account)).toEqual([ACCOUNT, OTHER_ACCOUNT])
    await expect(follower.running.client.directory.listAccounts({})).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    })
    expect(tokenId).not.toBe('')
    const wrong = { userName: 'account', account: ACCOUNT, password: 'wrong' }
    await expect(
      follower.running.client.issue({ password: wrong, scope: { account: ACCOUNT } }),
    ).rejects.toMatchObject({ code: 'UNAUTHENTICATED', reason: 'LOGIN_FAILED' })
  })
})

test('a second hub takes the place of one that is lost, and the answers go on', async () => {
  const { hub: first, secrets: people } = await startHub()
  const second = await runSidecar({ config: newFile(CALLERS, 'portcullis.yaml'), folder: first.folder })
  const { check } = await startFollower(first.address, second.address)
  const { value } = await issued(first, people)
  expect(await check(value)).toBe('REASON_ALLOWED')
  await first.sidecar.close()
  expect(await check(value)).toBe('REASON_ALLOWED')
  await second.client.revoke({ value })
  await eventually(async () => (await check(value)) === 'REASON_CREDENTIAL_REVOKED')
})

test('a follower whose hub cannot answer is not ready', async () => {
  const { hub: only, secrets: people } = await startHub()
  const { running, check } = await startFollower(only.address)
  const { value } = await issued(only, people)
  expect(await check(value)).toBe('REASON_ALLOWED')
  const readiness = async () => {
    const answer = await fetch(`http://${running.sidecar.httpAddress}/readyz?verbose`)
    return { status: answer.status, text: await answer.text() }
  }
  expect(await readiness()).toMatchObject({ status: 200 })
  const file = join(only.folder, 'directory.sqlite')
  renameSync(file, `${file}.before`)
  await eventually(async () => (await readiness()).status === 503)
  expect((await readiness()).text).toContain('directory_unreachable')
  await expect(check(value)).rejects.toThrow('the directory does not answer')
})

test('without a hub nothing is allowed beyond the bound, and everything again afterwards', async () => {
  const { hub: only, secrets: people } = await startHub()
  const { check } = await startFollower(only.address)
  const { value } = await issued(only, people)
  await eventually(async () => (await check(value)) === 'REASON_ALLOWED')
  await only.sidecar.close()
  await eventually(() =>
    check(value).then(
      () => false,
      (error: unknown) => refusalOf(error).reason === 'DIRECTORY_UNAVAILABLE',
    ),
  )
  await runSidecar({
    config: newFile(CALLERS, 'portcullis.yaml'),
    folder: only.folder,
    flags: { 'grpc.address': only.address },
  })
  await eventually(async () => (await check(value).catch(() => '')) === 'REASON_ALLOWED')
})

test('a sidecar follows one that follows, and learns of a revocation and of a withdrawn key', async () => {
  const hub = await runSidecar({ config: newFile(CALLERS, 'portcullis.yaml'), times: { keyPollMs: 5 } })
  const people = await populate(hub)
  const second = await startFollower(hub.address)
  const { check } = await startFollower(second.running.address)
  const [{ value }, { value: other }] = [await issued(hub, people), await issued(hub, people)]
  for (const each of [value, other]) expect(await check(each)).toBe('REASON_ALLOWED')
  await hub.client.revoke({ value })
  await eventually(async () => (await check(value)) === 'REASON_CREDENTIAL_REVOKED')
  expect(await check(other)).toBe('REASON_ALLOWED')
  const file = join(hub.folder, 'signing-keys.json')
  const active = readKeys(file).find(({ state }) => state === 'active')
  withdrawKey(file, active?.keyId ?? '', Date.now() + 3_600_000)
  await eventually(async () => (await check(other)) === 'REASON_CREDENTIAL_INVALID')
})

test('a hub that lacks changes known to this sidecar is not followed, after a restart either, until that is accepted', async () => {
  const { hub: first, secrets: people } = await startHub()
  const { hub: second, secrets: others } = await startHub()
  const { value } = await issued(first, people)
  const { value: own } = await issued(second, others)
  const { check, running } = await startFollower(first.address, second.address)
  expect(await check(value)).toBe('REASON_ALLOWED')
  await first.sidecar.close()
  const lost = (error: unknown) => refusalOf(error).reason === 'DIRECTORY_CHANGES_LOST'
  await eventually(() => running.logLines.find((line) => line.includes('do not restart')))
  await running.sidecar.close()

  const again = await startFollower(second.address, running.folder)
  await eventually(() => again.running.logLines.find((line) => line.includes('do not restart')))
  await expect(again.check(own)).rejects.toSatisfy(
    (error: unknown) => lost(error) || refusalOf(error).reason === 'DIRECTORY_UNAVAILABLE',
  )
  // An operator accepts it where the directory is.
  const backup = newBackup()
  await done('backup', backup, '--data', second.folder)
  await second.sidecar.close()
  await done('restore', backup, '--replace', '--end-tokens', '--data', second.folder)
  const restored = await runSidecar({
    config: newFile(CALLERS, 'portcullis.yaml'),
    folder: second.folder,
    flags: { 'grpc.address': second.address },
  })
  await eventually(async () => (await again.check(own).catch(() => '')) === 'REASON_CREDENTIAL_REVOKED')
  const { value: later } = await issued(restored, others)
  expect(await again.check(later)).toBe('REASON_ALLOWED')
})

test('it starts again in the data folder that it made', async () => {
  const { folder } = follower.running
  const config = `directory: { hub: { addresses: ['${hub.address}'], token_file: ${newFile(FOLLOWER)} } }`
  await expect(runSidecar({ config: newFile(config, 'portcullis.yaml'), folder })).resolves.toBeDefined()
})

test('the identity endpoint and the public keys are elsewhere, and a client learns that', async () => {
  const { httpAddress } = follower.running.sidecar
  const asked = [
    ['POST', '/identity/v3/auth/tokens'],
    ['GET', '/identity/v3'],
    ['GET', '/.well-known/jwks.json'],
  ]
  for (const [method = '', path] of asked) {
    const response = await fetch(`http://${httpAddress}${path}`, { method })
    expect([path, response.status, await response.text()]).toEqual([
      path,
      400,
      expect.stringContaining('this sidecar has no directory'),
    ])
  }
})

test.each([
  [
    'both',
    `directory: { url: 'postgres://u:p@127.0.0.1/d', hub: { addresses: ['127.0.0.1:1'], token_file: ${newFile(FOLLOWER)} } }`,
    'directory: expected either url or hub',
  ],
  [
    'another machine without TLS',
    `directory: { hub: { addresses: ['10.0.0.1:1'], token_file: ${newFile(FOLLOWER)} } }`,
    'directory.hub.addresses[0]: expected an address of this machine, or directory.hub.tls',
  ],
  [
    'neither a token nor a certificate',
    "directory: { hub: { addresses: ['127.0.0.1:1'] } }",
    'directory.hub: expected token_file or tls',
  ],
  [
    'a token file that is missing',
    `directory: { hub: { addresses: ['127.0.0.1:1'], token_file: ${join('/', 'nowhere')} } }`,
    'directory.hub.token_file',
  ],
])('a configuration with %s is refused', async (_what, config, message) => {
  await expect(runSidecar({ config: newFile(config, 'portcullis.yaml') })).rejects.toThrow(message)
})
