/** `doctor` describes the hubs of a sidecar that has no directory. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { examine } from '../../sidecar/cli/doctor/examine.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { freePort, newFile, newFolder } from '../support/suite/resources.ts'

const FOLLOWER = newFile('follower-caller-token-0123456789abcdef')
const READER = newFile('reader-caller-token-0123456789abcdef')
const CALLERS = newFile(
  `callers:
  - { name: follower, token_file: ${FOLLOWER}, rights: [follow] }
  - { name: reader, token_file: ${READER}, rights: [read] }
`,
  'portcullis.yaml',
)

const startHub = (folder?: string) => runSidecar({ config: CALLERS, ...(folder && { folder }) })

async function hubsAccordingTo(addresses: readonly string[], token: string, more = '') {
  const config = `${more}directory: { hub: { addresses: [${addresses.map((each) => `'${each}'`)}], token_file: ${token} } }\n`
  const options = { config: newFile(config, 'portcullis.yaml'), data: join(newFolder(), 'data') }
  const findings = await examine({ ...options, grpc: 'unix:/nowhere/grpc.sock' }, Date.now)
  // It has no keys, no pepper and no directory, and misses none.
  const checks = findings.map(({ check }) => check)
  for (const check of ['keys', 'pepper', 'directory'] as const) expect(checks).not.toContain(check)
  return findings
    .filter(({ check }) => check === 'hubs')
    .map(({ severity, subject, message, fix }) => [severity, subject, `${message}; ${fix}`])
}

test('two hubs of one directory can be followed', async () => {
  const first = await startHub()
  const second = await startHub(first.folder)
  expect(await hubsAccordingTo([first.address, second.address], FOLLOWER)).toEqual([
    ['ok', first.address, expect.stringMatching(/^it can be followed, from change \d+/)],
    ['ok', second.address, expect.stringMatching(/^it can be followed, from change \d+/)],
  ])
})

test('two hubs of two directories are worth a warning', async () => {
  const [first, second] = [await startHub(), await startHub()]
  expect(await hubsAccordingTo([first.address, second.address], FOLLOWER)).toMatchObject([
    ['ok', first.address, expect.anything()],
    [
      'warning',
      second.address,
      expect.stringContaining(`it does not go on from where ${first.address} is; all hubs must share`),
    ],
  ])
})

test('so are other rules', async () => {
  const { address } = await startHub()
  expect(await hubsAccordingTo([address], FOLLOWER, 'strict: true\n')).toEqual([
    ['warning', address, expect.stringContaining('it has other rules than the configured matrix')],
  ])
})

test('a hub that is not there, and one that refuses this caller, are errors', async () => {
  const { address } = await startHub()
  const nowhere = `127.0.0.1:${await freePort()}`
  expect(await hubsAccordingTo([nowhere, address], READER)).toEqual([
    ['error', nowhere, expect.stringContaining('ECONNREFUSED')],
    ['error', address, expect.stringContaining('it needs the right `follow`')],
  ])
})
