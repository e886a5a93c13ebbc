/**
 * schemathesis asks questions that the OpenAPI document has, and those that it excludes: no answer is an
 * error of the server, and each is as described.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageFile } from '../../../sidecar/base/package.ts'
import { interopFolder, run } from '../../support/interop/command.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { installedFromPython } from '../../support/interop/python-packages.ts'
import { runSidecar } from '../../support/sidecar/sidecar.ts'
import { newFolder } from '../../support/suite/resources.ts'

const requirements = join(interopFolder, 'connect', 'requirements.txt')

const schemathesis = await obtained('schemathesis', async () =>
  join(await installedFromPython('schemathesis', { files: [requirements] }), 'schemathesis'),
)

/** The calls that the document has. */
const CALLS = Object.keys(
  (JSON.parse(packageFile('proto/openapi.json').toString()) as { paths: object }).paths,
).length

/** How many values are made for each call, beside those at the bounds of its schema. */
const EXAMPLES = '15'

test.skipIf(!schemathesis.ok).each(['the administrator', 'an unknown caller'])('asked by %s', async (who) => {
  const { sidecar, folder, logLines } = await runSidecar({
    flags: { 'http.address': '127.0.0.1:0', 'http.connect': true },
  })
  const token = readFileSync(join(folder, 'administrator-token'), 'utf8').trim()
  const url = `http://${sidecar.httpAddress}`
  const printed = await run(
    schemathesis.ok ? schemathesis.value : '',
    [
      ...['run', `${url}/openapi.json`, '--url', url, '--no-color', '--seed', '1'],
      ...['--phases', 'coverage,fuzzing', '--max-examples', EXAMPLES, '--suppress-health-check', 'all'],
      // The contract has rules beyond its schema: an unknown account, an invalid address.
      ...['--exclude-checks', 'positive_data_acceptance'],
      ...(who === 'an unknown caller' ? [] : ['--header', `Authorization: Bearer ${token}`]),
    ],
    { cwd: newFolder() },
  )
  expect(printed).toContain(`Selected: ${CALLS}/${CALLS}`)
  expect(printed).toMatch(/(\d{4}) generated, \1 passed/)
  const levels = logLines.map((line) => (JSON.parse(line) as { level: number }).level)
  expect(levels.filter((level) => level >= 50)).toEqual([])
})
