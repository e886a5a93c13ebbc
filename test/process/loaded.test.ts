/** Disabled parts are not loaded: each package takes memory and time of every start. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { urlsLoadedBy } from '../support/processes/loaded.ts'
import { newFolder } from '../support/suite/resources.ts'

const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'sidecar/package.json'), 'utf8'))

/** Those of the package's dependencies that a sidecar loads, and the modules of its commands. */
async function loadedBy(...flags: readonly string[]) {
  const urls = await urlsLoadedBy(['--data', newFolder(), ...flags])
  const all = urls.join('\n')
  return {
    packages: Object.keys(dependencies).filter((name) => all.includes(`/node_modules/${name}/`)),
    commands: urls
      .flatMap((url) => /\/cli\/(?:commands|administration)\/([\w-]+)/.exec(url)?.[1] ?? [])
      .toSorted(),
  }
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

test('a sidecar with gRPC alone loads no package of what is off, and no other command', async () => {
  expect(await loadedBy('--http', 'off')).toEqual({ packages: WITH_GRPC, commands: ['npm', 'serve'] })
})

test('HTTP brings a router', async () => {
  const { packages } = await loadedBy('--http', '127.0.0.1:0')
  expect(packages).toEqual([...WITH_GRPC, 'find-my-way'].toSorted())
})
