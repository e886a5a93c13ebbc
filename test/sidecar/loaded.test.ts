/** What is off is not loaded: each package takes memory and time of every start. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { serveDemo } from '../support/processes/processes.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

/** Writes down what was loaded, for each module its URL, when the process ends. */
const REPORT = `
import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
const loaded = []
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
process.on('exit', () => writeFileSync(process.env.REPORT, loaded.join('\\n')))`
const preload = `--import=${pathToFileURL(newFile(REPORT, 'report.mjs'))}`

const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'sidecar/package.json'), 'utf8'))

/** Those of the package's dependencies that a sidecar loads. */
async function loadedBy(...flags: readonly string[]): Promise<string[]> {
  const report = join(newFolder(), 'loaded')
  const { stop } = await serveDemo(flags, {
    environment: { NODE_OPTIONS: preload, REPORT: report, PORTCULLIS_GRPC_TRANSPORT: 'sockets' },
  })
  await stop()
  const urls = readFileSync(report, 'utf8')
  return Object.keys(dependencies).filter((name) => urls.includes(`/node_modules/${name}/`))
}

const WITH_GRPC = [
  '@bufbuild/protobuf',
  'commander',
  'ipaddr.js',
  'jsonc-parser',
  'lru-cache',
  'p-limit',
  'pino',
]

test('a sidecar with gRPC alone loads no package of what is off', async () => {
  expect(await loadedBy('--http', 'off')).toEqual(WITH_GRPC)
})

test('HTTP brings Fastify', async () => {
  expect(await loadedBy('--http', '127.0.0.1:0')).toEqual([...WITH_GRPC, 'fastify'].toSorted())
})
