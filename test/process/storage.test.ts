/** The data folder: its permissions, sharing by two processes from the start, and what cannot be used. */
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { describe, expect, test, vi } from 'vitest'
import { writeSealed } from '../../sidecar/base/sealed-file.ts'
import { rotateAdministratorToken } from '../../sidecar/config/administrator-token.ts'
import { command } from '../support/processes/command-line.ts'
import { serve } from '../support/processes/processes.ts'
import { connect } from '../support/sidecar/client.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const CANARY = 'canary-5ec2e7'

test('only the owner may enter the folder or read its files', async () => {
  const { folder } = await runSidecar()
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  const modes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777])
  expect(modes.map(([name]) => name)).toEqual(
    expect.arrayContaining([
      'administrator-token',
      'directory.sqlite',
      'signing-keys.json',
      'static-token-pepper',
    ]),
  )
  expect(modes.filter(([, mode]) => mode !== 0o600)).toEqual([])
})

test('all records exist after a restart of the sidecar', async () => {
  const first = await runSidecar()
  const secrets = await populate(first)
  const { value } = await issued(first, secrets)
  await first.sidecar.close()
  const second = await runSidecar({ folder: first.folder })
  for (const [header, token] of [
    ['X-Auth-Token', value],
    ['X-Token', secrets.staticToken],
  ] as const)
    expect(await second.client.check({ api: 'balance', credentials: [[header, token]] })).toMatchObject({
      allowed: true,
    })
  await issued(second, secrets)
})

test('with another pepper static tokens are denied, and the log says why at the start', async () => {
  const first = await runSidecar()
  const secrets = await populate(first)
  const { value } = await issued(first, secrets)
  await first.sidecar.close()
  const pepper = join(first.folder, 'static-token-pepper')
  const right = readFileSync(pepper)
  const checked = async () => {
    const { sidecar, client, logLines } = await runSidecar({ folder: first.folder })
    const reason = async (header: string, token: string) =>
      (await client.check({ api: 'balance', credentials: [[header, token]] })).reason
    const reasons = [await reason('X-Token', secrets.staticToken), await reason('X-Auth-Token', value)]
    await sidecar.close()
    return { reasons, said: logLines.filter((line) => line.includes('another pepper')) }
  }

  rmSync(pepper)
  const { reasons, said } = await checked()
  expect(reasons).toEqual(['CREDENTIAL_INVALID', 'ALLOWED'])
  expect(said.map((line) => JSON.parse(line))).toMatchObject([{ level: 50, static_tokens: 1, pepper }])

  writeFileSync(pepper, right)
  expect(await checked()).toEqual({ reasons: ['ALLOWED', 'ALLOWED'], said: [] })
})

test.each<[what: string, lose: (file: string) => void]>([
  ['removed', (file) => rmSync(file)],
  ['emptied', (file) => writeFileSync(file, '')],
])('the log warns about a directory that was %s, but not about a new folder', async (_what, lose) => {
  const first = await runSidecar()
  await populate(first)
  await first.sidecar.close()
  const said = (lines: readonly string[]) => lines.filter((line) => line.includes('its directory is missing'))
  expect(said(first.logLines)).toEqual([])
  const file = join(first.folder, 'directory.sqlite')
  for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
  lose(file)
  const { logLines } = await runSidecar({ folder: first.folder })
  expect(said(logLines).map((line) => JSON.parse(line))).toMatchObject([{ level: 50, directory: file }])
})

test('two processes that start at the same time on a new folder have the same keys, and both work', async () => {
  const folder = join(newFolder(), 'data')
  const [one, other] = await Promise.all([serve(['--data', folder]), serve(['--data', folder])])
  const clients = [one, other].map(({ ready }) => connect(ready.grpc))
  whenTheFileEnds(() => {
    for (const client of clients) client.close()
  })
  const applied = await command(['directory', 'apply', '--json', '--data', folder, directoryFile()])
  const [{ value: password }] = (JSON.parse(applied.stdout) as { secrets: [{ value: string }] }).secrets
  for (const [index, client] of clients.entries()) {
    const { value } = await client.issue({
      password: { userName: 'job', account: ACCOUNT, password },
      scope: { account: ACCOUNT },
    })
    const elsewhere = clients[1 - index]
    expect(await elsewhere?.check({ api: 'iam', credentials: [['X-Auth-Token', value]] })).toMatchObject({
      allowed: true,
    })
  }
  // No half-written file remains.
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([])
})

describe('a file that a killed process has not completed', () => {
  const OLD = '.portcullis-0123456789abcdef.tmp'
  const YOUNG = '.portcullis-fedcba9876543210.tmp'
  const FOREIGN = '.0123456789abcdef.tmp'

  test.each<[by: string, next: (folder: string) => Promise<unknown>]>([
    ['start', (folder) => runSidecar({ folder })],
    ['file', async (folder) => rotateAdministratorToken(folder)],
    ['backup', (folder) => writeSealed(join(folder, 'backup'), 'keys', () => {})],
  ])('is removed by the next %s, once it is old', async (_by, next) => {
    const { folder, sidecar } = await runSidecar()
    await sidecar.close()
    for (const name of [OLD, YOUNG, FOREIGN]) writeFileSync(join(folder, name), 'a private key')
    for (const name of [OLD, FOREIGN]) utimesSync(join(folder, name), 0, 0)
    await next(folder)
    const left = readdirSync(folder).filter((name) => name.endsWith('.tmp'))
    expect(left.toSorted()).toEqual([YOUNG, FOREIGN].toSorted())
  })

  test('of another process is not removed by one whose clock is ahead', async () => {
    const { folder, sidecar } = await runSidecar()
    await sidecar.close()
    writeFileSync(join(folder, YOUNG), 'a private key')
    const ahead = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 7_200_000)
    rotateAdministratorToken(folder)
    ahead.mockRestore()
    expect(readdirSync(folder)).toContain(YOUNG)
  })
})

function directoryFile(): string {
  const path = join(newFolder(), 'directory.yaml')
  writeFileSync(
    path,
    `accounts: [{account: "${ACCOUNT}", service_users: [{name: job, permissions: [{scope: account}]}]}]\n`,
  )
  return path
}

test('a process waits while another process creates the directory', async () => {
  const path = join(newFolder(), 'directory.sqlite')
  const other = new DatabaseSync(path)
  // The state before the first process has switched the file to a write-ahead log.
  other.exec('BEGIN IMMEDIATE; CREATE TABLE unfinished (a)')
  const { opening, outcome } = openInThread(path)
  await opening
  await new Promise((resolve) => setTimeout(resolve, 100))
  other.exec('ROLLBACK')
  other.close()
  expect(await outcome).toBe('opened')
})

/** Opens the directory in a separate thread, because SQLite blocks its thread while it waits. */
function openInThread(path: string): { opening: Promise<unknown>; outcome: Promise<unknown> } {
  const module = new URL('../../sidecar/directory/sqlite.ts', import.meta.url).href
  const worker = new Worker(
    `const { parentPort, workerData: { module, path } } = require('node:worker_threads')
     import(module).then(({ openSqlite }) => {
       parentPort.postMessage('opening')
       try { openSqlite(path).close(); parentPort.postMessage('opened') }
       catch (error) { parentPort.postMessage(error.message) }
     })`,
    { eval: true, workerData: { module, path } },
  )
  whenTheFileEnds(async () => {
    await worker.terminate()
  })
  const opening = new Promise((resolve) => worker.once('message', resolve))
  const outcome = new Promise((resolve) =>
    worker.on('message', (said) => said !== 'opening' && resolve(said)),
  )
  return { opening, outcome }
}

describe('a folder that cannot be used', () => {
  /** The data folder of a sidecar, with one damaged file. */
  const spoilt = async (spoil: (folder: string) => void) => {
    const { folder, sidecar } = await runSidecar()
    await sidecar.close()
    spoil(folder)
    return folder
  }
  const starting = (folder: string) => runSidecar({ folder })

  test('because a newer version wrote the directory: the error says so, and the file is not changed', async () => {
    const folder = await spoilt((folder) => {
      const database = new DatabaseSync(join(folder, 'directory.sqlite'))
      database.exec('PRAGMA user_version = 999')
      database.close()
    })
    const path = join(folder, 'directory.sqlite')
    await expect(starting(folder)).rejects.toThrow(
      new RegExp(
        `^${path}: expected a directory of version \\d+ or earlier, found 999; a newer Portcullis wrote it$`,
      ),
    )
    const database = new DatabaseSync(path)
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 999 })
    database.close()
  })

  test('because the directory is not a database: the error names the file', async () => {
    const folder = await spoilt((folder) => {
      for (const suffix of ['-wal', '-shm'])
        rmSync(join(folder, `directory.sqlite${suffix}`), { force: true })
      writeFileSync(join(folder, 'directory.sqlite'), CANARY.repeat(1_000))
    })
    await expect(starting(folder)).rejects.toThrow(/directory\.sqlite/)
    await expect(starting(folder)).rejects.not.toThrow(CANARY)
  })

  const keysOf = (folder: string) => join(folder, 'signing-keys.json')
  test.each<[claim: string, change: (keys: string) => string]>([
    ['no JSON', (keys) => `${CANARY}${keys}`],
    ['without a key', () => JSON.stringify({ keys: [] })],
    ['with a malformed key id', (keys) => keys.replace(/"key_id": "[^"]*"/, `"key_id": "${CANARY}"`)],
    [
      'with the same key twice',
      (keys) => {
        const [key] = (JSON.parse(keys) as { keys: unknown[] }).keys
        return JSON.stringify({ keys: [key, key] })
      },
    ],
    ['without an active key', (keys) => keys.replace('"active"', '"retired"')],
    ['with an unreadable key', (keys) => keys.replace(/-----BEGIN[^"]*/g, CANARY)],
  ])(
    'because the signing keys are %s: the error says so without quoting the file',
    async (_claim, change) => {
      const folder = await spoilt((folder) => {
        const keys = readFileSync(keysOf(folder), 'utf8')
        writeFileSync(keysOf(folder), change(keys))
      })
      const content = readFileSync(keysOf(folder), 'utf8')
      await expect(starting(folder)).rejects.toThrow(
        new Error(
          `${keysOf(folder)}: expected signing keys as Portcullis writes them: Ed25519, one active, at most one staged`,
        ),
      )
      // The file is not overwritten, because it may be evidence or a mistake that can be repaired.
      expect(readFileSync(keysOf(folder), 'utf8')).toBe(content)
    },
  )

  test('because the pepper was truncated: the error says so', async () => {
    const folder = await spoilt((folder) => writeFileSync(join(folder, 'static-token-pepper'), 'abcd'))
    await expect(starting(folder)).rejects.toThrow(
      new Error(`${join(folder, 'static-token-pepper')}: expected 64 hex digits`),
    )
  })

  test('because the administrator token was truncated: the error says so, because a short token can be guessed', async () => {
    const folder = await spoilt((folder) => writeFileSync(join(folder, 'administrator-token'), 'a\n'))
    await expect(starting(folder)).rejects.toThrow(/administrator-token/)
  })

  test('because it belongs to another program: it is refused and keeps its mode', async () => {
    const folder = join(newFolder(), 'shared')
    mkdirSync(folder, { mode: 0o755 })
    copyFileSync('/etc/hostname', join(folder, 'something of others'))
    await expect(starting(folder)).rejects.toThrow(folder)
    expect(statSync(folder).mode & 0o777).toBe(0o755)
  })
})
