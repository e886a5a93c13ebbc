/**
 * The Python client: its own tests, which start a sidecar and run the conformance suite; its formatter,
 * linter and types; that its stubs are those of the protos; and that its wheel is whole.
 */
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { repository, run } from '../../support/interop/command.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { installedFromPython } from '../../support/interop/python-packages.ts'
import { newFolder } from '../../support/suite/resources.ts'

const client = join(repository, 'clients/python')
const programs = await obtained('the tools of the Python client', () =>
  installedFromPython('python-client', { files: [join(client, 'requirements-dev.txt')] }),
)

const GENERATED = 'src/portcullis_client/gen'

describe.runIf(programs.ok)('the Python client', () => {
  const bin = programs.ok ? programs.value : ''
  const python = (args: readonly string[], cwd = client) =>
    run(join(bin, 'python'), args, {
      cwd,
      env: { PYTHONPATH: 'src', PYTHONDONTWRITEBYTECODE: '1', PATH: `${bin}:${process.env.PATH}` },
    })

  test('passes its tests', { timeout: 3_600_000 }, async () => {
    const printed = await python([
      '-m',
      'pytest',
      '-q',
      '-p',
      'no:cacheprovider',
      '--timeout',
      process.env.QUESTIONS ? '3600' : '120',
    ])
    expect(printed).toMatch(/^\d+ passed/m)
  })

  test('is formatted, linted and typed', async () => {
    await python(['-m', 'ruff', 'format', '--no-cache', '--check', '.'])
    await python(['-m', 'ruff', 'check', '--no-cache', '.'])
    await python(['-m', 'mypy', '--cache-dir', newFolder()])
  })

  test('carries the stubs of the protos', async () => {
    const folder = newFolder()
    const copy = join(folder, 'clients/python')
    cpSync(client, copy, { recursive: true })
    cpSync(join(repository, 'proto'), join(folder, 'proto'), { recursive: true })
    await run('sh', [join(copy, 'generate.sh')], { env: { PATH: `${bin}:${process.env.PATH}` } })
    const files = (of: string) =>
      readdirSync(join(of, GENERATED), { recursive: true, encoding: 'utf8' }).filter((file) =>
        /\.pyi?$/.test(file),
      )
    expect(files(copy).sort()).toEqual(files(client).sort())
    for (const file of files(client))
      expect(readFileSync(join(copy, GENERATED, file), 'utf8'), file).toBe(
        readFileSync(join(client, GENERATED, file), 'utf8'),
      )
  })

  test('has types, stubs and every module in its wheel', async () => {
    const folder = newFolder()
    const copy = join(folder, 'python')
    cpSync(client, copy, { recursive: true })
    await python(['-m', 'pip', 'wheel', '--no-deps', '--no-build-isolation', '-w', folder, copy])
    const [wheel = ''] = readdirSync(folder).filter((file) => file.endsWith('.whl'))
    const listed = await python(['-m', 'zipfile', '--list', join(folder, wheel)])
    for (const file of ['py.typed', 'asgi.py', 'httpx.py', 'gen/portcullis/v1/authorization_pb2_grpc.py'])
      expect(listed).toContain(`portcullis_client/${file}`)
  })
})
