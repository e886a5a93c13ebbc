/**
 * PgBouncer between hosts and PostgreSQL: in session mode everything works, in other modes
 * nothing uses the directory.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { Secret } from '../../../sidecar/base/secret.ts'
import { openPostgres, type PostgresOptions } from '../../../sidecar/directory/postgres.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { PgBouncer, type PoolMode } from '../../support/postgres/pgbouncer.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { done, newBackup } from '../../support/processes/backup.ts'
import { command } from '../../support/processes/command-line.ts'
import { eventually, eventuallyHolds, newFile, newFolder } from '../../support/suite/resources.ts'

const programs = inject('postgres')
const bouncers = inject('pgbouncer')
const TIMEOUT_MS = 1_000
const NOTIFICATIONS = 50
const SHARED = 'a pooler there gives a session to others between two statements'

describe.skipIf(!programs.ok || !bouncers.ok)('PgBouncer', () => {
  let server: PostgresServer
  let session: PgBouncer
  beforeAll(async () => {
    if (!programs.ok || !bouncers.ok) return
    server = await PostgresServer.start(programs.folder)
    session = await PgBouncer.start(bouncers.folder, server, 'session')
  })
  afterAll(async () => {
    await session?.stop()
    await server?.remove()
  })

  const open = (url: string, options: Pick<PostgresOptions, 'stalenessMs' | 'onListening'> = {}) =>
    openPostgres({ url: new Secret(url), poolSize: 3, timeoutMs: TIMEOUT_MS, ...options })
  const newName = async () => new URL(await server.newDatabase()).pathname.slice(1)

  test('in session mode: notifications, time limits and changes, also after it was restarted', async () => {
    const name = await newName()
    const listening: boolean[] = []
    const onListening = (on: boolean) => void listening.push(on)
    const [here, there] = await Promise.all([
      open(server.url(name, { port: session.port }), { stalenessMs: 3_600_000, onListening }),
      open(server.url(name)),
    ])
    try {
      await here.follow()
      expect(listening).toEqual([true])
      const store = new DirectoryStore(there, Date.now)
      const delaysMs: number[] = []
      for (let change = 0; change < NOTIFICATIONS; change++) {
        const before = here.changes.position
        await store.change('a test', (by) => by.createAccount(`account-${change}`))
        const madeAtMs = performance.now()
        while (here.changes.position === before) await sleep(1)
        delaysMs.push(performance.now() - madeAtMs)
      }
      const [limits] = await here.all(
        `SELECT current_setting('statement_timeout') AS statement, current_setting('idle_in_transaction_session_timeout') AS idle`,
      )
      expect(limits).toEqual({ statement: '1s', idle: '10s' })
      await session.stop()
      await expect(here.all('SELECT 1')).rejects.toMatchObject({ reason: 'DIRECTORY_UNAVAILABLE' })
      // Not while its sessions are shared.
      await session.start(server, 'transaction')
      await eventuallyHolds(() =>
        expect(here.all('SELECT 1')).rejects.toMatchObject({
          reason: 'DIRECTORY_UNAVAILABLE',
          cause: { message: expect.stringContaining(SHARED) },
        }),
      )
      expect(listening).toEqual([true, false])
      await session.stop()
      await session.start(server, 'session')
      await eventually(() => listening.at(-1) === true && listening.length === 3)
      const own = new DirectoryStore(here, Date.now)
      await own.change('a test', (by) => by.createAccount('last'))
      expect(await new DirectoryStore(there, Date.now).records.account('last')).toBeDefined()
      const sorted = delaysMs.toSorted((one, other) => one - other)
      process.stderr.write(
        `interop: PgBouncer in session mode: notified after a change elsewhere: median ${sorted[NOTIFICATIONS / 2]?.toFixed(1)} ms, longest ${sorted.at(-1)?.toFixed(1)} ms of ${NOTIFICATIONS}\n`,
      )
    } finally {
      await Promise.all([here.close(), there.close()])
    }
  })

  test.each<PoolMode>(['transaction', 'statement'])(
    'in %s mode every command that needs the directory refuses it, in the same sentence',
    async (mode) => {
      if (!bouncers.ok) return
      const name = await newName()
      const data = join(newFolder(), 'data')
      const backup = newBackup()
      const file = newFile(JSON.stringify({ accounts: [{ account: '234567' }] }))
      vi.stubEnv('PORTCULLIS_DIRECTORY_URL', server.url(name))
      await done('directory', 'apply', file, '--data', data)
      await done('backup', backup, '--data', data)
      const bouncer = await PgBouncer.start(bouncers.folder, server, mode)
      vi.stubEnv('PORTCULLIS_DIRECTORY_URL', server.url(name, { port: bouncer.port }))
      try {
        for (const words of [
          ['serve', '--grpc', '127.0.0.1:0', '--http', 'off'],
          ['directory', 'show'],
          ['directory', 'apply', file],
          ['directory', 'replace-password', '234567', 'worker'],
          ['directory', 'lost'],
          ['backup', newBackup()],
          ['restore', backup, '--replace'],
          ['migrate', '--check'],
          ['doctor'],
        ]) {
          const { code, stdout, stderr } = await command([...words, '--data', data])
          expect([words, code, `${stdout}${stderr}`]).toEqual([
            words,
            words[0] === 'doctor' ? 1 : 2,
            expect.stringContaining(
              `directory.url: expected a directory that can be opened (PostgreSQL: ${SHARED}`,
            ),
          ])
        }
      } finally {
        vi.unstubAllEnvs()
        await bouncer.stop()
      }
    },
  )
})
