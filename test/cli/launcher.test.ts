/**
 * The launcher explains what to do if Node is too old, or if generated code is missing.
 * `test/nightly/packages.test.ts` tries it with a real old Node.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { newFolder } from '../support/suite/resources.ts'

/** Makes Node report another version. */
const reporting = (version: string) => `data:text/javascript,
  Object.defineProperty(process.versions, 'node', { value: '${version}' });
  Object.defineProperty(process, 'version', { value: 'v${version}' })`

test.each<[where: string, files: string[], advice: RegExp]>([
  ['in an installed package', [], /^Install Node 24\.7 or later, and run the command again\.$/],
  [
    'in a checkout without its own Node',
    ['sidecar/cli/main.ts'],
    /npm leaves it out where it runs no install scripts\. `npm rebuild node --ignore-scripts=false` installs it\.$/,
  ],
  [
    'in a checkout that has its own Node',
    ['sidecar/cli/main.ts', 'node_modules/node/bin/node'],
    /`npm start`, or `npx portcullis` in place of `node sidecar\/portcullis\.js`\.$/,
  ],
])('%s', (_where, files, advice) => {
  const folder = newFolder()
  const launcher = join(folder, 'sidecar/portcullis.js')
  cpSync(join(ROOT, 'sidecar/portcullis.js'), launcher)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), '')
  }
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', reporting('20.1.0'), launcher, 'serve'],
    {
      encoding: 'utf8',
    },
  )
  const [complaint, ...lines] = stderr.trim().split('\n')
  expect({ status, stdout, complaint }).toEqual({
    status: 2,
    stdout: '',
    complaint: 'portcullis: expected Node 24.7 or later, this is v20.1.0',
  })
  expect(lines).toEqual([expect.stringMatching(advice)])
})

test('a checkout without its generated code says how it is made', () => {
  const folder = newFolder()
  for (const file of ['sidecar/portcullis.js', 'sidecar/cli/main.ts'])
    cpSync(join(ROOT, file), join(folder, file))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'sidecar/portcullis.js'), 'serve'])
  expect({ status, stderr: String(stderr).split('\n') }).toEqual({
    status: 2,
    stderr: [
      'portcullis: expected generated code, which npm makes where it runs install scripts',
      'Make it with `npm run gen`, and run the command again.',
      '',
    ],
  })
})

test.each<[version: string, runs: boolean]>([
  ['22.23.3', false],
  ['24.6.0', false],
  ['24.7.0', true],
  ['25.0.0', true],
])('Node %s, which has argon2 or not: %s', (version, runs) => {
  const launcher = join(ROOT, 'sidecar/portcullis.js')
  const words = ['--import', reporting(version), launcher, '--version']
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  expect({
    status,
    complains: stderr.startsWith(`portcullis: expected Node 24.7 or later, this is v${version}\n`),
  }).toEqual({
    status: runs ? 0 : 2,
    complains: !runs,
  })
})
