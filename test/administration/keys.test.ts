/** Signing keys: rotation under a running sidecar, and the overlap of old and new. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { IamTokenSigner } from '../../sidecar/authority/iam-token.ts'
import {
  KeyRing,
  longestLifetimeMs,
  publicKeysOf,
  readKeys,
  rotateKeys,
} from '../../sidecar/authority/keys.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder } from '../support/suite/resources.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

function statesOf(path: string): string[] {
  return readKeys(path).map(({ state }) => state)
}

/** Key id in a token's protected header. */
function keyIdOf(token: string): string {
  return (JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid
}

describe('a sidecar on its keys', () => {
  test('starts with an active and a staged key, readable by the owner alone', async () => {
    const { folder } = await runSidecar()
    const path = join(folder, 'signing-keys.json')
    expect(statesOf(path)).toEqual(['active', 'staged'])
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  test('follows a rotation: old tokens verify, new ones are signed with the key that was staged', async () => {
    const running = await runSidecar({ times: { keyPollMs: 10 } })
    const secrets = await populate(running)
    const path = join(running.folder, 'signing-keys.json')
    const [active, staged] = readKeys(path)
    const before = await issued(running, secrets)
    expect(keyIdOf(before.value)).toBe(active?.keyId)

    rotateKeys(path, Date.now() + MINUTE_MS, DAY_MS)
    const after = await eventually(async () => {
      const token = await issued(running, secrets)
      return keyIdOf(token.value) === staged?.keyId && token
    })
    for (const { value } of [before, after]) {
      const answer = await running.client.check({ api: 'iam', credentials: [['X-Auth-Token', value]] })
      expect(answer.reason).toBe('ALLOWED')
    }
  })

  test('knows a token of a key that was made since its last look at the file', async () => {
    const first = await runSidecar()
    const secrets = await populate(first)
    const { value } = await issued(first, secrets)
    const path = join(first.folder, 'signing-keys.json')
    const check = async (token: string) =>
      (await first.client.check({ api: 'iam', credentials: [['X-Auth-Token', token]] })).reason
    expect(await check(value)).toBe('ALLOWED')
    // Signed here with the new key, in the moment in which the file has it.
    for (const minutes of [1, 2]) rotateKeys(path, Date.now() + minutes * MINUTE_MS, DAY_MS)
    const ring = new KeyRing(path, Date.now(), { onRefused: () => {} })
    const claims = JSON.parse(Buffer.from(value.split('.')[1] ?? '', 'base64url').toString())
    const token = new IamTokenSigner(ring).sign({ ...claims, jti: 'A'.repeat(22) })
    ring.close()
    expect(keyIdOf(token)).not.toBe(keyIdOf(value))
    expect(await check(token)).toBe('ALLOWED')
  })

  test('of another deployment it says in the log that tokens are signed with a key that is not here', async () => {
    const elsewhere = await runSidecar()
    const token = await issued(elsewhere, await populate(elsewhere))
    const running = await runSidecar()
    const [header, ...rest] = token.value.split('.')
    const withHeader = (text: string) => [Buffer.from(text).toString('base64url'), ...rest].join('.')
    const genuine = Buffer.from(header ?? '', 'base64url').toString()
    const check = async (value: string) =>
      (await running.client.check({ api: 'iam', credentials: [['X-Auth-Token', value]] })).reason
    const said = () =>
      running.logLines.filter((line) => line.includes('"key_id"')).map((line) => JSON.parse(line))

    // Nothing of a header that no Portcullis writes gets into the log.
    for (const text of [
      genuine.replace('EdDSA', 'none'),
      genuine.replace(keyIdOf(token.value), 'canary'),
      `${genuine} `,
      '',
    ])
      expect(await check(withHeader(text))).toBe('CREDENTIAL_INVALID')
    expect(said()).toEqual([])
    // Once: repeating it does not fill the log.
    for (let times = 0; times < 3; times++) expect(await check(token.value)).toBe('CREDENTIAL_INVALID')
    expect(said()).toMatchObject([{ level: 40, key_id: keyIdOf(token.value) }])
  })

  test('with public keys alone it checks, and says that it cannot issue', async () => {
    const signer = await runSidecar()
    const secrets = await populate(signer)
    const token = await issued(signer, secrets)
    const path = join(signer.folder, 'signing-keys.json')
    const publicKeys = publicKeysOf(readKeys(path))
    expect(publicKeys).not.toContain('PRIVATE')
    writeFileSync(path, publicKeys)
    const checker = await runSidecar({ folder: signer.folder })
    const answer = await checker.client.check({ api: 'iam', credentials: [['X-Auth-Token', token.value]] })
    expect(answer.reason).toBe('ALLOWED')
    await expect(
      checker.client.issue({
        password: { userName: 'account', account: ACCOUNT, password: secrets.passwordOf('account') },
        scope: { account: ACCOUNT },
      }),
    ).rejects.toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'NO_SIGNING_KEY' })
  })
})

describe('rotation', () => {
  const start = Date.now()

  async function keyFile(): Promise<string> {
    const { folder, sidecar } = await runSidecar({ folder: join(newFolder(), 'data'), now: () => start })
    await sidecar.close()
    return join(folder, 'signing-keys.json')
  }

  test('retires the active key, without its private half', async () => {
    const path = await keyFile()
    rotateKeys(path, start + MINUTE_MS, DAY_MS)
    expect(statesOf(path)).toEqual(['retired', 'active', 'staged'])
    expect(readKeys(path).map(({ privateKey }) => privateKey !== undefined)).toEqual([false, true, true])
  })

  test('refuses a staged key that not every process can know yet', async () => {
    const path = await keyFile()
    const before = readFileSync(path, 'utf8')
    expect(() => rotateKeys(path, start + 3_000, DAY_MS)).toThrow('try again in 7 s')
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  // A token lives for a day, can be asked about for two more, and may be signed a little after the
  // retirement.
  const KEPT_MS = 3 * DAY_MS + MINUTE_MS
  test.each<[claim: string, afterMs: number, lifetimeMs: number, states: string[]]>([
    [
      'keeps a retired key while a token of it can be asked about, expired or not',
      KEPT_MS - 1,
      DAY_MS,
      ['retired', 'retired', 'active', 'staged'],
    ],
    ['drops it then', KEPT_MS, DAY_MS, ['retired', 'active', 'staged']],
    [
      'keeps it for good where tokens never expire',
      10_000 * DAY_MS,
      Number.POSITIVE_INFINITY,
      ['retired', 'retired', 'active', 'staged'],
    ],
  ])('%s', async (_claim, afterMs, lifetimeMs, states) => {
    const path = await keyFile()
    rotateKeys(path, start + MINUTE_MS, lifetimeMs)
    rotateKeys(path, start + MINUTE_MS + afterMs, lifetimeMs)
    expect(statesOf(path)).toEqual(states)
  })

  test('how long tokens live is the longest lifetime of what is issued', () => {
    const kinds = [...compile(supportMatrix).tokenKinds.values()]
    expect(longestLifetimeMs(kinds)).toBe(DAY_MS)
    expect(longestLifetimeMs(kinds.map((kind) => ({ ...kind, lifetimeSeconds: null })))).toBe(
      Number.POSITIVE_INFINITY,
    )
    expect(longestLifetimeMs([])).toBe(0)
  })

  test('does not run twice at once', async () => {
    const path = await keyFile()
    using other = new DatabaseSync(`${path}.lock`)
    other.exec('BEGIN EXCLUSIVE')
    expect(() => rotateKeys(path, start + MINUTE_MS, DAY_MS)).toThrow(
      'another process is changing the file; try again',
    )
  })

  test('is not kept from it by the file of a process that was killed', async () => {
    const path = await keyFile()
    writeFileSync(`${path}.lock`, '')
    rotateKeys(path, start + MINUTE_MS, DAY_MS)
    expect(statesOf(path)).toEqual(['retired', 'active', 'staged'])
    expect(existsSync(`${path}.lock`)).toBe(false)
  })
})
