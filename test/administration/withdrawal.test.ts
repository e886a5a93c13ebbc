/** Withdrawn keys: their tokens are denied at once, and an unreadable key file stops all IAM tokens. */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect as connectSocket, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ServiceDefinition } from '@grpc/proto-loader'
import { describe, expect, test } from 'vitest'
import { KeyRing, publicKeysOf, readKeys, rotateKeys, withdrawKey } from '../../sidecar/authority/keys.ts'
import { BlackBox, protosOf } from '../support/contract/black-box.ts'
import { decodedPart } from '../support/identity/signed-token.ts'
import { command } from '../support/processes/command-line.ts'
import { startProcess } from '../support/processes/processes.ts'
import { connect } from '../support/sidecar/client.ts'
import { issued, populate, type RunningSidecar, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const keysOf = ({ folder }: RunningSidecar) => join(folder, 'signing-keys.json')
const statesOf = (path: string) => readKeys(path).map(({ state }) => state)
const keyIdOf = (token: string) => String(decodedPart(token, 0).kid)
const keyOf = (path: string, state: string) =>
  readKeys(path).find((key) => key.state === state)?.keyId ?? 'missing'

/** A key file with a retired, an active and a staged key. */
function keyFile(nowMs: number): string {
  const path = join(newFolder(), 'signing-keys.json')
  new KeyRing(path, nowMs - MINUTE_MS, { onRefused: () => {} }).close()
  rotateKeys(path, nowMs - MINUTE_MS / 2, DAY_MS)
  return path
}

describe('withdrawing a key', () => {
  const nowMs = Date.now()

  test.each<[state: string, left: string[]]>([
    ['retired', ['active', 'staged']],
    ['active', ['retired', 'active', 'staged']],
    ['staged', ['retired', 'active', 'staged']],
  ])('the %s one: it is gone, and the file still has what it needs', (state, left) => {
    const path = keyFile(nowMs)
    const [withdrawn, staged] = [keyOf(path, state), keyOf(path, 'staged')]
    withdrawKey(path, withdrawn, nowMs)
    expect(statesOf(path)).toEqual(left)
    expect(readFileSync(path, 'utf8')).not.toContain(withdrawn)
    if (state === 'active') expect(keyOf(path, 'active')).toBe(staged)
  })

  test.each<[what: string, spoil: (path: string) => string, error: string]>([
    [
      'there is no such key',
      () => '0123456789abcdef',
      'there is no key 0123456789abcdef; `portcullis keys show`',
    ],
    [
      'it is active and the staged one is too new',
      (path) => {
        rotateKeys(path, nowMs - 1000, DAY_MS)
        return keyOf(path, 'active')
      },
      'the staged key is too new: every process must read it before it becomes active; try again in 9 s',
    ],
    [
      'the file has public keys alone',
      (path) => {
        writeFileSync(path, publicKeysOf(readKeys(path)))
        return keyOf(path, 'active')
      },
      'withdraw the key where tokens are signed',
    ],
  ])('is refused where %s, and the file stays as it is', (_what, spoil, error) => {
    const path = keyFile(nowMs)
    const keyId = spoil(path)
    const before = readFileSync(path, 'utf8')
    expect(() => withdrawKey(path, keyId, nowMs)).toThrow(error)
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  test('and rotating wait for no staged key of a clock that was ahead', () => {
    const path = keyFile(nowMs + 365 * DAY_MS)
    expect(statesOf(path)).toEqual(['retired', 'active', 'staged'])
    const staged = keyOf(path, 'staged')
    rotateKeys(path, nowMs, DAY_MS)
    expect(keyOf(path, 'active')).toBe(staged)
    expect(() => rotateKeys(path, nowMs, DAY_MS)).toThrow('try again in 10 s')
  })

  test.skipIf(process.getuid?.() !== 0)(
    'and rotating keep the owner, the group and the mode of the file',
    () => {
      const path = keyFile(nowMs)
      chownSync(path, 12_345, 23_456)
      chmodSync(path, 0o640)
      rotateKeys(path, nowMs, DAY_MS)
      expect(statSync(path)).toMatchObject({ uid: 12_345, gid: 23_456, mode: 0o100640 })
      withdrawKey(path, keyOf(path, 'retired'), nowMs)
      expect(statSync(path)).toMatchObject({ uid: 12_345, gid: 23_456, mode: 0o100640 })
    },
  )

  test('denies its tokens in a running sidecar, and new tokens are signed with the next key', async () => {
    const running = await runSidecar({ times: { keyPollMs: 10 } })
    const secrets = await populate(running)
    const { value } = await issued(running, secrets)
    const check = async (token: string) =>
      (await running.client.check({ api: 'iam', credentials: [['X-Auth-Token', token]] })).reason
    expect(await check(value)).toBe('ALLOWED')
    withdrawKey(keysOf(running), keyIdOf(value), Date.now() + MINUTE_MS)
    await eventually(async () => (await check(value)) === 'CREDENTIAL_INVALID')
    expect(await check((await issued(running, secrets)).value)).toBe('ALLOWED')
  })

  test('by the command line', async () => {
    const path = keyFile(nowMs)
    const retired = keyOf(path, 'retired')
    const folder = path.slice(0, path.lastIndexOf('/'))
    const { code, stdout } = await command(['keys', 'withdraw', retired, '--data', folder, '--yes', '--json'])
    expect(code).toBe(0)
    expect((JSON.parse(stdout) as { keys: { state: string }[] }).keys.map(({ state }) => state)).toEqual([
      'active',
      'staged',
    ])
    expect(statesOf(path)).toEqual(['active', 'staged'])
  })
})

describe('a key file that cannot be read', () => {
  const health = protosOf('grpc-health-check', 'proto/health/v1/health.proto')

  test.each<[what: string, spoil: (path: string) => void]>([
    ['is deleted', (path) => rmSync(path)],
    ['has other content', (path) => writeFileSync(path, 'canary')],
    [
      'is a folder',
      (path) => {
        rmSync(path)
        mkdirSync(path)
      },
    ],
  ])(
    'because it %s: IAM tokens get no answer until it can, and the sidecar is not ready',
    async (_what, spoil) => {
      const running = await runSidecar({
        times: { keyPollMs: 10 },
        flags: { keys_unreadable_ms: 50, 'http.address': '127.0.0.1:0' },
      })
      const secrets = await populate(running)
      const { value } = await issued(running, secrets)
      const check = (header = 'X-Auth-Token', token = value) =>
        running.client.check({ api: 'balance', credentials: [[header, token]] })
      const healthOf = async () =>
        (
          await new BlackBox(running.address, health['grpc.health.v1.Health'] as ServiceDefinition).ask(
            'check',
            {
              service: '',
            },
          )
        ).status
      const ready = () => fetch(`http://${running.sidecar.httpAddress}/readyz`)
      const path = keysOf(running)
      renameSync(path, `${path}.good`)
      writeFileSync(path, readFileSync(`${path}.good`))
      spoil(path)
      const error = await eventually(() =>
        check().then(
          () => undefined,
          (error: unknown) => error,
        ),
      )
      expect(error).toMatchObject({ code: 'UNAVAILABLE', reason: 'KEYS_UNREADABLE' })
      await expect(issued(running, secrets)).rejects.toMatchObject({ reason: 'KEYS_UNREADABLE' })
      expect(await check('X-Token', secrets.staticToken)).toMatchObject({ allowed: true })
      expect(await healthOf()).toBe('NOT_SERVING')
      const answer = await ready()
      expect([answer.status, await answer.json()]).toEqual([
        503,
        { status: 'not ready', problems: ['signing_keys_unreadable'] },
      ])
      const said = running.logLines.filter((line) => line.includes('checks of IAM tokens fail'))
      expect(said.map((line) => JSON.parse(line))).toMatchObject([{ level: 50 }])
      expect(running.logLines.join('')).not.toContain('canary')

      rmSync(path, { recursive: true, force: true })
      renameSync(`${path}.good`, path)
      await eventually(() =>
        check().then(
          ({ allowed }) => allowed,
          () => false,
        ),
      )
      expect([await healthOf(), (await ready()).status]).toEqual(['SERVING', 200])
    },
  )

  test('is read although idle connections hold every descriptor, so that a withdrawn key is withdrawn', async () => {
    const base = await runSidecar()
    const { value } = await issued(base, await populate(base))
    const launcher = fileURLToPath(new URL('../../sidecar/portcullis.js', import.meta.url))
    const serve = [process.execPath, launcher, 'serve', '--json', '--grpc', '127.0.0.1:0']
    const limited = startProcess(
      [
        'bash',
        '-c',
        'ulimit -n 76; exec "$@"',
        'bash',
        ...serve,
        '--http',
        '127.0.0.1:0',
        '--data',
        base.folder,
      ],
      { environment: { PORTCULLIS_LOG_LEVEL: 'info', PORTCULLIS_KEYS_UNREADABLE_MS: '86400000' } },
    )
    const ready = await limited.until(() => {
      const [line] = limited.stdout().split('\n')
      return line?.startsWith('{') && (JSON.parse(line) as { grpc: string; http: string })
    })
    const client = connect(ready.grpc)
    whenTheFileEnds(() => client.close())
    const check = async () =>
      (await client.check({ api: 'balance', credentials: [['X-Auth-Token', value]] })).reason
    expect(await check()).toBe('ALLOWED')
    const sockets: Socket[] = []
    whenTheFileEnds(() => {
      for (const socket of sockets) socket.destroy()
    })
    const port = Number(ready.http.slice(ready.http.lastIndexOf(':') + 1))
    // Each waits without a word, until it is evicted for another one.
    for (let index = 0; index < 100; index++)
      sockets.push(connectSocket(port, '127.0.0.1').on('error', () => {}))
    await eventually(() => sockets.filter(({ closed }) => closed).length > 20)
    withdrawKey(keysOf(base), keyIdOf(value), Date.now() + MINUTE_MS)
    await eventually(async () => (await check()) === 'CREDENTIAL_INVALID')
  })
})

test('a host whose keys are not readable for a while uses the last good ones', async () => {
  const running = await runSidecar({ times: { keyPollMs: 10 }, flags: { keys_unreadable_ms: 86_400_000 } })
  const secrets = await populate(running)
  rmSync(keysOf(running))
  await eventually(() => running.logLines.some((line) => line.includes('signing keys cannot be used')))
  const { value } = await issued(running, secrets)
  const { allowed } = await running.client.check({ api: 'iam', credentials: [['X-Auth-Token', value]] })
  expect(allowed).toBe(true)
})
