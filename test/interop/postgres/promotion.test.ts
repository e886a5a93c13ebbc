/** A matrix that is promoted where hosts share a directory on PostgreSQL. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { PostgresServer } from '../../support/postgres/server.ts'
import { AFTER, BEFORE, fileOf, host, NEXT, REASON, ROWS } from '../../support/sidecar/shadowed.ts'
import { eventually, newFolder } from '../../support/suite/resources.ts'

const programs = inject('postgres')

describe.skipIf(!programs.ok)('on PostgreSQL', () => {
  let server: PostgresServer | undefined
  beforeAll(async () => {
    if (programs.ok) server = await PostgresServer.start(programs.folder)
  })
  afterAll(() => server?.remove())

  /** Another host of the directory, with the keys and the pepper of the first. */
  function folderBeside(folder: string): string {
    const other = join(newFolder(), 'data')
    mkdirSync(other, { mode: 0o700 })
    for (const name of ['signing-keys.json', 'static-token-pepper'])
      copyFileSync(join(folder, name), join(other, name))
    return other
  }

  test('is in force on every host, is taken back there, and is there after a start', async () => {
    const url = (await server?.newDatabase()) ?? ''
    const one = await host({ url, shadow: fileOf(NEXT) })
    const beside = () => folderBeside(one.running.folder)
    const other = await host({ url, folder: beside(), matrix: fileOf({ ...ROWS, title: 'another file' }) })
    expect([await one.cells(), await other.cells()]).toEqual([
      [false, true],
      [false, true],
    ])
    await one.directory.promoteMatrix({ shadowDigest: AFTER, digest: BEFORE, reason: REASON })
    expect(await one.cells()).toEqual([true, false])
    await eventually(async () => (await other.cells())[0])
    expect(await other.cells()).toEqual([true, false])
    const later = await host({ url, folder: beside() })
    expect(await later.cells()).toEqual([true, false])
    // Whichever host is asked.
    await other.directory.rollBackMatrix({
      ...{ digest: AFTER, reason: REASON },
      to: { $case: 'toConfigured', value: true },
    })
    for (const each of [one, later]) await eventually(async () => (await each.cells())[1])
    expect((await later.directory.getMatrixRollout({ matrices: false })).versions).toMatchObject([
      { digest: '', action: 'rolled_back', reason: REASON },
      { digest: AFTER, action: 'promoted', reason: REASON },
      { digest: BEFORE, action: 'replaced' },
    ])
  })
})
