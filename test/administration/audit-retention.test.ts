/** Old records of the audit trail go to files, as the configuration says, and all of them can be exported. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { command } from '../support/processes/command-line.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { OTHER_ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

test('with `audit.keep_days`, older records are in files in the data folder, and the log names them', async () => {
  const clock = { aheadMs: 0 }
  const folder = join(newFolder(), 'data')
  const before = await runSidecar({ folder })
  await populate(before)
  await before.sidecar.close()
  clock.aheadMs = 31 * 24 * 3_600_000
  const running = await runSidecar({
    folder,
    config: newFile('audit: { keep_days: 30 }\n', 'portcullis.yaml'),
    now: () => Date.now() + clock.aheadMs,
  })
  const line = await eventually(() => running.logLines.find((text) => text.includes('were archived')))
  const [file = ''] = (JSON.parse(line) as { files: string[] }).files
  expect(dirname(file)).toBe(join(folder, 'audit-archive'))
  expect(readFileSync(file, 'utf8')).toContain('"action":"account.create"')
  const left = await running.sidecar.administration.records.audit('', { after: '0', size: 100 })
  expect(left.map(({ action }) => action)).toEqual(['audit.archive'])
})

test('`audit export` prints every record in the form of those files, or those after one', async () => {
  const folder = join(newFolder(), 'data')
  const before = await runSidecar({ folder })
  await populate(before)
  const exported = async (...args: string[]) => {
    const address = ['--address', before.address, '--data', folder]
    const { code, stdout, stderr } = await command(['audit', 'export', ...args, ...address])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout.split('\n').slice(0, -1)
  }
  const lines = await exported()
  const records = lines.map(
    (line) => JSON.parse(line) as { sequence: number; account: string; action: string },
  )
  expect(records.map(({ sequence }) => sequence)).toEqual(records.map((_, index) => index + 1))
  expect(await exported('--after', '3')).toEqual(lines.slice(3))
  const created = records.flatMap(({ action }, index) => (action === 'project.create' ? [lines[index]] : []))
  expect(created.length).toBeGreaterThan(0)
  expect(await exported('--action', 'project.create', '--since', '2020-01-01')).toEqual(created)
  expect(await exported('--until', '2020-01-01')).toEqual([])
  const ofOther = records.filter(({ account }) => account === OTHER_ACCOUNT)
  expect((await exported(OTHER_ACCOUNT)).map((line) => JSON.parse(line))).toEqual(ofOther)
  await before.sidecar.close()

  const archive = newFolder()
  const running = await runSidecar({
    folder,
    config: newFile(JSON.stringify({ audit: { keep_days: 30, archive } }), 'portcullis.yaml'),
    now: () => Date.now() + 31 * 24 * 3_600_000,
  })
  await eventually(() => running.logLines.find((text) => text.includes('were archived')))
  const [file = ''] = readdirSync(archive)
  const archived = readFileSync(join(archive, file), 'utf8').trim().split('\n')
  expect(archived.map((line) => JSON.parse(line))).toEqual(records)
})

test('`audit export` of a long trail has all of its pages', async () => {
  const running = await runSidecar()
  const made = await applyFile(running.sidecar.administration, TESTER, {
    accounts: Array.from({ length: 2_100 }, (_, index) => ({ account: `account-${index}` })),
  })
  expect(made.created.accounts).toBe(2_100)
  const { stdout } = await command([
    'audit',
    'export',
    '--address',
    running.address,
    '--data',
    running.folder,
  ])
  expect(stdout.split('\n')).toHaveLength(2_101)
})
