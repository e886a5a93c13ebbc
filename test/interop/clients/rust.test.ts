/**
 * The Rust client: its own tests, which start a sidecar and run the conformance suite; its formatter, linter
 * and documentation; and that its package is whole.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cargo } from '../../support/interop/cargo.ts'
import { commandsOf } from '../../support/interop/client-commands.ts'
import { repository } from '../../support/interop/command.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { startForwardProxy } from '../../support/proxies/forward-proxy.ts'
import { newFolder } from '../../support/suite/resources.ts'

const client = join(repository, 'clients/rust')
const toolchain = await obtained('Rust', async () => {
  const names = [['--version'], ['fmt', '--version'], ['clippy', '--version']]
  return Promise.all(names.map((args) => cargo(args, { cwd: client })))
})

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  cargo(args, { cwd: client, env })

describe.runIf(toolchain.ok)('the Rust client', () => {
  test('passes its tests', async () => {
    const [, ...args] = commandsOf('rust').test
    const printed = await run([...args, '--locked', '--quiet'])
    const results = [...printed.matchAll(/^test result: (\w+)\. (\d+) passed; 0 failed; 0 ignored/gm)]
    // Of the crate, beside a sidecar, and in the documentation.
    expect(results.map(([, word, count]) => [word, Number(count) > 3])).toEqual([
      ['ok', true],
      ['ok', true],
      ['ok', true],
    ])
  })

  test('reaches its sidecar without the proxy of the environment', async () => {
    const proxy = await startForwardProxy()
    const [, ...args] = commandsOf('rust').test
    const reaching = ['--locked', '--offline', '--quiet', '--test', 'sidecar', 'client::']
    expect(await run([...args, ...reaching], proxy.environment)).toMatch(/^test result: ok\. [1-9]/m)
    expect(proxy.seen).toEqual([])
  })

  test('is formatted, linted and documented', async () => {
    await run(['fmt', '--all', '--check'])
    await run(['clippy', '--locked', '--all-targets', '--all-features', '--quiet', '--', '-D', 'warnings'])
    await run(['doc', '--locked', '--all-features', '--no-deps', '--quiet'], {
      RUSTDOCFLAGS: '-D warnings',
    })
  })

  test.each([
    ['no feature', []],
    ['each feature by itself', ['tls', 'axum', 'server', 'reqwest']],
  ])('compiles with %s', async (_name, features) => {
    const check = ['clippy', '--locked', '--lib', '--quiet', '--no-default-features']
    const lists = features.length === 0 ? [[]] : features.map((feature) => ['--features', feature])
    for (const list of lists) await run([...check, ...list, '--', '-D', 'warnings'])
  })

  test('has its licence, its page and the protos in its package, which compiles outside of the checkout', async () => {
    // As docs/decide/releasing.md says: Cargo packs only files of the folder.
    const crate = join(newFolder(), 'portcullis-client')
    cpSync(client, crate, { recursive: true, filter: (path) => path !== join(client, 'target') })
    cpSync(join(repository, 'proto/portcullis'), join(crate, 'proto/portcullis'), { recursive: true })
    const files = (await cargo(['package', '--list'], { cwd: crate })).split('\n')
    expect(files).toEqual(
      expect.arrayContaining([
        'Cargo.toml',
        'LICENSE',
        'README.md',
        'proto/portcullis/v1/authorization.proto',
        'src/lib.rs',
      ]),
    )
    expect(files.filter((file) => /^(tests|benches|target)\//.test(file))).toEqual([])
    await cargo(['package', '--locked', '--quiet'], { cwd: crate })
  })
})
