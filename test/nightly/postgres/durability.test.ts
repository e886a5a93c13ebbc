/** PostgreSQL is killed while a process writes: acknowledged changes are kept, and no change is half-done. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { expectWhole } from '../../directory/contract/processes.ts'
import { openLocation, startWriter } from '../../support/directory/writer.ts'
import { PostgresServer } from '../../support/postgres/server.ts'

const programs = inject('postgres')
const KILLS = 5

describe.skipIf(!programs.ok)('PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    if (programs.ok) server = await PostgresServer.start(programs.folder)
  })
  afterAll(() => server?.remove())

  test(`that is killed ${KILLS} times keeps every acknowledged change`, async () => {
    const location = { type: 'postgres', url: await server.newDatabase() } as const
    const acknowledged: string[] = []
    for (let kill = 0; kill < KILLS; kill++) {
      const writer = startWriter(location, { type: 'write', prefix: `run-${kill}` })
      await writer.said(5 + kill)
      await server.kill()
      // The process ends at the first change without an answer, because that answer may have been lost on the
      // way.
      await expect(writer.ended).rejects.toThrow('the directory does not answer')
      acknowledged.push(...writer.lines)
      await server.start()
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(KILLS * 5)
    await expectWhole(await openLocation(location), acknowledged)
  })
})
