/** What is off is not loaded: each package takes memory and time of every start. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { urlsLoadedBy } from '../support/processes/loaded.ts'
import { newFolder } from '../support/suite/resources.ts'

const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'sidecar/package.json'), 'utf8'))

/** Those of the package's dependencies that a sidecar loads. */
async function loadedBy(...flags: readonly string[]): Promise<string[]> {
  const urls = (await urlsLoadedBy(['--dev', ...flags])).join('\n')
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

test('a sidecar loads no other command', async () => {
  const urls = await urlsLoadedBy(['--data', newFolder()])
  const commands = urls.flatMap((url) => /\/cli\/(?:commands|administration)\/([\w-]+)/.exec(url)?.[1] ?? [])
  expect(commands.toSorted()).toEqual(['npm', 'serve'])
})

test('HTTP brings Fastify', async () => {
  expect(await loadedBy('--http', '127.0.0.1:0')).toEqual([...WITH_GRPC, 'fastify'].toSorted())
})
