/**
 * PgBouncer between hosts and PostgreSQL: in session mode everything works, in transaction mode a sidecar
 * does not start.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { Secret } from '../../../sidecar/base/secret.ts'
import { openPostgres, type PostgresOptions } from '../../../sidecar/directory/postgres.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { PgBouncer } from '../../support/postgres/pgbouncer.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { eventually } from '../../support/suite/resources.ts'

const programs = inject('postgres')
const bouncers = inject('pgbouncer')
const TIMEOUT_MS = 1_000
const NOTIFICATIONS = 50

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
      await session.start(server)
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

  test('in transaction mode the directory is not opened', async () => {
    if (!bouncers.ok) return
    const transaction = await PgBouncer.start(bouncers.folder, server, 'transaction')
    try {
      await expect(open(server.url(await newName(), { port: transaction.port }))).rejects.toThrow(
        /^directory\.url: expected PostgreSQL itself or a pooler in session mode; /,
      )
    } finally {
      await transaction.stop()
    }
  })
})
