/**
 * The configuration of the decision log: what it loads, and what is refused. A wrong endpoint slows no check.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { startProcess } from '../support/processes/processes.ts'
import { type RunningSidecar, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventuallyHolds, newFile, newFolder } from '../support/suite/resources.ts'

test('a sidecar without a decision log loads nothing for it; standard output has the lines and nothing else, and needs no library of HTTP', async () => {
  const [without, withStdout] = [{ required: true }, { stdout: true }].map((settings) =>
    newFile(
      JSON.stringify({
        ...{ data: newFolder(), grpc: { address: '127.0.0.1:0' }, http: { address: 'off' } },
        ...{ log: { level: 'silent' }, decision_log: settings },
      }),
    ),
  )
  const program = newFile(
    `import { registerHooks } from 'node:module'
const loaded = new Set()
registerHooks({
  load(url, context, next) {
    const name = /node_modules\\/(undici)\\/|sidecar\\/signals\\/decision-log\\/([a-z-]+)\\.ts/.exec(url)
    if (name) loaded.add(name[1] ?? name[2])
    return next(url, context)
  },
})
const { readConfig, startSidecar } = await import('${pathToFileURL(ROOT)}sidecar/index.ts')
const { connect } = await import('${pathToFileURL(ROOT)}clients/typescript/index.ts')
const silent = await startSidecar(readConfig({ file: '${without}' }))
const before = [...loaded]
await silent.close()
const sidecar = await startSidecar(readConfig({ file: '${withStdout}' }))
process.stderr.write(JSON.stringify([before, [...loaded]]))
const client = connect(sidecar.grpcAddress)
await client.check({ api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } })
client.close()
await sidecar.close()
`,
    'program.mjs',
  )
  const { stdout, stderr } = await startProcess([process.execPath, program]).ended
  const [before, loaded] = JSON.parse(stderr)
  expect(before).toEqual([])
  expect(loaded).toContain('stdout')
  expect(loaded).not.toContain('undici')
  expect(stdout.split('\n').map((line) => line && JSON.parse(line).api)).toEqual(['balance', ''])
})

const folder = newFolder()
mkdirSync(join(folder, 'sub'))

test.each<[settings: Record<string, string | number | boolean>, message: string]>([
  [
    { 'decision_log.stdout': true, 'decision_log.file.path': join(folder, 'x') },
    'decision_log: expected only one of file.path, stdout and otlp.url',
  ],
  [
    { 'decision_log.stdout': true, workers: 2 },
    'decision_log.stdout: expected a file or an endpoint where there are several workers',
  ],
  [
    { 'decision_log.otlp.url': 'http://collector.example/v1/logs' },
    'decision_log.otlp.url: expected https, or an address of this machine: the lines say who asks for what',
  ],
  [
    { 'decision_log.otlp.url': 'https://me:secret@collector.example/' },
    'decision_log.otlp.url: expected a URL without a user name and without a fragment',
  ],
  [
    {
      'decision_log.otlp.url': 'https://c.example/',
      'decision_log.otlp.authorization_file': join(folder, 'none'),
    },
    `decision_log.otlp.authorization_file: ${join(folder, 'none')} cannot be read (ENOENT)`,
  ],
  [
    { 'decision_log.otlp.url': 'https://c.example/', 'decision_log.otlp.ca': newFile('nonsense') },
    'decision_log.otlp.ca: expected certificates in PEM in ',
  ],
  [
    { 'decision_log.file.path': join(folder, 'sub') },
    `decision_log.file.path: ${join(folder, 'sub')} cannot be written (EISDIR)`,
  ],
  [
    { 'decision_log.file.path': join(folder, 'none', 'x') },
    `decision_log.file.path: ${join(folder, 'none', 'x')} cannot be written (ENOENT)`,
  ],
  [{ 'decision_log.sample_percent': 101 }, 'decision_log.sample_percent: expected '],
  [{ 'decision_log.buffer_bytes': 1000 }, 'decision_log.buffer_bytes: expected '],
])('%j is refused at the start', async (flags, message) => {
  await expect(runSidecar({ flags })).rejects.toThrow(message)
})

const QUESTION = { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } }

async function askOften({ client }: RunningSidecar, times: number): Promise<void> {
  for (let index = 0; index < times; index++) await client.check(QUESTION)
}

test('an endpoint without a server slows no check and fails none, and is a warning', async () => {
  const flags = { 'decision_log.otlp.url': 'http://127.0.0.1:1/v1/logs', 'http.address': '127.0.0.1:0' }
  const running = await runSidecar({ flags })
  await askOften(running, 50)
  const ready = async () => {
    const answer = await fetch(`http://${running.sidecar.httpAddress}/readyz`)
    return { status: answer.status, body: await answer.json() }
  }
  await eventuallyHolds(async () =>
    expect(await ready()).toEqual({
      status: 200,
      body: { status: 'ready', warnings: ['decision_log_unwritable'] },
    }),
  )
  await askOften(running, 50)
  await running.sidecar.close()
  const said = running.logLines.map((line) => JSON.parse(line))
  expect(said).toContainEqual(
    expect.objectContaining({ msg: 'the decision log cannot be written; lines wait' }),
  )
  expect(said).toContainEqual(
    expect.objectContaining({
      decisions: 100,
      msg: 'decisions were made without a line in the decision log',
    }),
  )
})
