/**
 * The Rust client: its own tests, which start a sidecar and run the conformance suite; its formatter, linter
 * and documentation; that its stubs are those of the protos; that its package is whole; and that it is ahead
 * of its peers.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cargo } from '../../support/interop/cargo.ts'
import { repository } from '../../support/interop/command.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { newFolder } from '../../support/suite/resources.ts'

const client = join(repository, 'clients/rust')
const toolchain = await obtained('Rust', async () => {
  const names = [['--version'], ['fmt', '--version'], ['clippy', '--version']]
  return Promise.all(names.map((args) => cargo(args, { cwd: client })))
})

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  cargo(args, { cwd: client, env })

/** The first run compiles all that the client stands on. */
const TEST_MS_MAX = 3_600_000

describe.runIf(toolchain.ok)('the Rust client', () => {
  test('passes its tests', { timeout: TEST_MS_MAX }, async () => {
    const printed = await run(['test', '--locked', '--all-features', '--quiet'])
    const results = [...printed.matchAll(/^test result: (\w+)\. (\d+) passed; 0 failed; 0 ignored/gm)]
    // Of the crate, beside a sidecar, and in the documentation.
    expect(results.map(([, word, count]) => [word, Number(count) > 3])).toEqual([
      ['ok', true],
      ['ok', true],
      ['ok', true],
    ])
  })

  test('is formatted, linted and documented', { timeout: TEST_MS_MAX }, async () => {
    await run(['fmt', '--all', '--check'])
    await run(['fmt', '--check', '--manifest-path', 'peers/Cargo.toml'])
    await run(['clippy', '--locked', '--all-targets', '--all-features', '--quiet', '--', '-D', 'warnings'])
    await run(['doc', '--locked', '--all-features', '--no-deps', '--quiet'], {
      RUSTDOCFLAGS: '-D warnings',
    })
  })

  test.each([
    ['no feature', []],
    ['each feature by itself', ['tls', 'axum', 'server', 'reqwest']],
  ])('compiles with %s', { timeout: TEST_MS_MAX }, async (_name, features) => {
    const check = ['clippy', '--locked', '--lib', '--quiet', '--no-default-features']
    const lists = features.length === 0 ? [[]] : features.map((feature) => ['--features', feature])
    for (const list of lists) await run([...check, ...list, '--', '-D', 'warnings'])
  })

  test('carries the stubs of the protos', { timeout: TEST_MS_MAX }, async () => {
    const folder = newFolder()
    await run(['run', '--locked', '--quiet', '--package', 'portcullis-generate', '--', folder])
    expect(readdirSync(folder)).toEqual(readdirSync(join(client, 'src/gen')))
    for (const file of readdirSync(folder))
      expect(readFileSync(join(client, 'src/gen', file), 'utf8'), file).toBe(
        readFileSync(join(folder, file), 'utf8'),
      )
  })

  test('has its licence, its page and its stubs in its package', async () => {
    const files = (await run(['package', '--list', '--allow-dirty'])).split('\n')
    expect(files).toEqual(
      expect.arrayContaining([
        'Cargo.toml',
        'LICENSE',
        'README.md',
        'src/gen/portcullis.v1.rs',
        'src/lib.rs',
      ]),
    )
    expect(files.filter((file) => /^(tests|peers|generate|benches)\//.test(file))).toEqual([])
  })
})
