/** PostgreSQL is killed while a process writes: what was acknowledged is there afterwards, and nothing is half. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { expectWhole } from '../../directory/contract/processes.ts'
import { openLocation, startWorker } from '../../support/directory/process.ts'
import { PostgresServer } from '../../support/postgres/server.ts'

const programs = inject('postgres')
const KILLS = 5

describe.skipIf(!programs.ok)('PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    if (programs.ok) server = await PostgresServer.start(programs.folder)
  })
  afterAll(() => server?.remove())

  test(`that is killed ${KILLS} times keeps what it acknowledged`, { timeout: 120_000 }, async () => {
    const location = { type: 'postgres', url: await server.newDatabase() } as const
    const acknowledged: string[] = []
    for (let kill = 0; kill < KILLS; kill++) {
      const worker = startWorker(location, { type: 'write', prefix: `run-${kill}` })
      await worker.said(5 + kill)
      await server.kill()
      // The process does not survive a change that got no answer; the answer may have been lost on the way.
      await expect(worker.ended).rejects.toThrow('the directory does not answer')
      acknowledged.push(...worker.lines)
      await server.start()
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(KILLS * 5)
    await expectWhole(await openLocation(location), acknowledged)
  })
})
