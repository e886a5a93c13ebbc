/**
 * The Go client: its own tests, which start a sidecar and run the conformance suite, with the race detector
 * where there is a C compiler; its formatter and linter; and that its stubs are those of the protos.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { commandsOf } from '../../support/interop/client-commands.ts'
import { repository, run, runBuf } from '../../support/interop/command.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { newFolder } from '../../support/suite/resources.ts'

const client = join(repository, 'clients/go')
const compiler = await obtained('gcc', () => run('gcc', ['--version']))

const go = (...args: readonly string[]) =>
  run('go', args, { cwd: client, env: { GOWORK: 'off', CGO_ENABLED: compiler.ok ? '1' : '0' } })

describe.runIf(inject('go').ok)('the Go client', () => {
  test('passes its tests', async () => {
    expect(
      await go(
        ...commandsOf('go').test.slice(1),
        '-count=1',
        '-timeout=1h',
        '-bench=.',
        '-benchtime=1x',
        ...(compiler.ok ? ['-race'] : []),
      ),
    ).toMatch(/^ok\s/m)
  })

  test('is formatted and vetted', async () => {
    expect(await run('gofmt', ['-l', '.'], { cwd: client })).toBe('')
    await go('vet', './...')
  })

  test('carries the stubs of the protos', async () => {
    const folder = newFolder()
    const inputs = [join(repository, 'proto'), '--template', join(client, 'buf.gen.yaml')]
    await runBuf(['generate', ...inputs, '--output', folder], { cwd: client })
    const files = (of: string) =>
      readdirSync(join(of, 'gen'), { recursive: true, encoding: 'utf8' }).filter((file) =>
        file.endsWith('.go'),
      )
    expect(files(folder)).toEqual(files(client))
    for (const file of files(folder))
      expect(readFileSync(join(client, 'gen', file), 'utf8'), file).toBe(
        readFileSync(join(folder, 'gen', file), 'utf8'),
      )
  })
})
