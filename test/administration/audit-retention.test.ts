/** Old records of the audit trail go to files, as the configuration says. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { eventually, newFile, newFolder } from '../support/resources.ts'
import { populate, runSidecar } from '../support/sidecar.ts'

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
  const left = await running.sidecar.administration.audit('', { after: '0', size: 100 })
  expect(left.map(({ action }) => action)).toEqual(['audit.archive'])
})
