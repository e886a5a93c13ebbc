/**
 * Files of earlier versions are upgraded, and decide as they did. `versions/version-5.json` has the folder
 * of a sidecar of that version, and so on: `node test/support/directory/keep-version.ts` adds that of a new
 * version, and none is ever removed.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { SCHEMA_VERSION } from '../../sidecar/directory/schema.ts'
import { folderOf, type Kept, VERSIONS } from '../support/directory/kept-versions.ts'
import { command } from '../support/processes/command-line.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFolder } from '../support/suite/resources.ts'

function versionIn(folder: string): number {
  const database = new DatabaseSync(join(folder, 'directory.sqlite'), { readOnly: true })
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  database.close()
  return version
}

/** What a sidecar on that folder says to the tokens, an hour after they were issued. */
async function decided(folder: string, { issued_at: issuedAt, tokens }: Kept) {
  const { client, sidecar } = await runSidecar({ folder, now: () => Date.parse(issuedAt) + 3_600_000 })
  const said: Record<string, string> = {}
  for (const { what, header, value } of tokens)
    said[what] = (await client.check({ api: 'reports', credentials: [[header, value]] })).reason
  await sidecar.close()
  return said
}

/** `reports` takes static tokens alone, so an active IAM token is denied for its kind. */
const expected = ({ tokens }: Kept) =>
  Object.fromEntries(
    tokens.map(({ what, header, reason }) => [
      what,
      reason === 'ALLOWED' && header !== 'X-Token' ? 'TOKEN_KIND_NOT_ACCEPTED' : reason,
    ]),
  )

test('a folder of every version from 5 on is kept, today’s included', () => {
  const every = Array.from({ length: SCHEMA_VERSION - 4 }, (_, index) => index + 5)
  expect(VERSIONS.toSorted((one, other) => one - other)).toEqual(every)
})

test.each(VERSIONS)('a folder of version %i has the version', (version) => {
  expect(versionIn(folderOf(version).folder)).toBe(version)
})

test.each(VERSIONS)(
  'a folder of version %i is upgraded at the start of a sidecar, and decides as it did',
  async (version) => {
    const { folder, kept } = folderOf(version)
    expect(await decided(folder, kept)).toEqual(expected(kept))
    expect(versionIn(folder)).toBe(SCHEMA_VERSION)
  },
)

describe.each(VERSIONS.filter((version) => version < SCHEMA_VERSION))('a folder of version %i', (version) => {
  test('is upgraded by `migrate`, which says so and does it once', async () => {
    const { folder, kept } = folderOf(version)
    const migrate = (...more: string[]) => command(['migrate', '--data', folder, ...more])
    const upgraded = `${version} %s to ${SCHEMA_VERSION}\n`
    expect(await migrate('--check')).toMatchObject({
      code: 1,
      stdout: `version ${upgraded.replace('%s', 'can be upgraded')}`,
    })
    expect(versionIn(folder)).toBe(version)
    expect(await migrate()).toMatchObject({
      code: 0,
      stdout: `version ${upgraded.replace('%s', 'was upgraded')}`,
    })
    expect(await migrate('--check')).toMatchObject({
      code: 0,
      stdout: `version ${SCHEMA_VERSION}: up to date\n`,
    })
    expect(await decided(folder, kept)).toEqual(expected(kept))
  })

  test('is backed up as it is, and restored upgraded', async () => {
    const { folder, kept } = folderOf(version)
    const backup = join(newFolder(), 'directory.backup')
    const { code } = await command(['backup', backup, '--data', folder])
    expect({ code, version: versionIn(folder) }).toEqual({ code: 0, version })
    const restored = await command(['restore', backup, '--replace', '--data', folder])
    expect(restored).toMatchObject({ code: 0, stderr: '' })
    expect(await decided(folder, kept)).toEqual(expected(kept))
    expect(versionIn(folder)).toBe(SCHEMA_VERSION)
  })
})

test('a directory of a newer version is refused with a clear message, and stays as it is', async () => {
  const { folder } = folderOf(5)
  const database = new DatabaseSync(join(folder, 'directory.sqlite'))
  database.exec('PRAGMA user_version = 99')
  database.close()
  for (const args of [['migrate'], ['migrate', '--check'], ['backup', join(folder, 'backup')]]) {
    const { code, stderr } = await command([...args, '--data', folder])
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /expected a directory of version \d+ or earlier, found 99; a newer Portcullis wrote it\n$/,
    )
  }
  expect(versionIn(folder)).toBe(99)
})

test('`migrate` makes no directory where there is none', async () => {
  const folder = newFolder()
  expect((await command(['migrate', '--data', folder])).stderr).toMatch(/there is no directory\n$/)
  expect(readdirSync(folder)).toEqual([])
})
