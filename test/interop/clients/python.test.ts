/**
 * The Python client: its own tests, which start a sidecar and run the conformance suite; its formatter,
 * linter and types; that its metadata fits its stubs; and that its packages are whole.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { commandsOf } from '../../support/interop/client-commands.ts'
import { repository, run } from '../../support/interop/command.ts'
import { available } from '../../support/interop/obtain.ts'
import {
  installedFromPython,
  makePythonStubs,
  pythonBuildTools,
} from '../../support/interop/python-packages.ts'
import { newFolder } from '../../support/suite/resources.ts'

const client = join(repository, 'clients/python')
const programs = await available(
  'the tools of the Python client',
  async () => ({
    bin: await installedFromPython('python-client', { files: [join(client, 'requirements-dev.txt')] }),
    tools: await pythonBuildTools(),
  }),
  async (installed) => {
    await makePythonStubs(installed.tools)
    return installed
  },
)

const GENERATED = 'portcullis_client/gen'

describe.runIf(programs.ok)('the Python client', () => {
  const { bin, tools } = programs.ok ? programs.value : { bin: '', tools: '' }
  const python = (args: readonly string[], cwd = client, programs = bin) =>
    run(join(programs, 'python'), args, {
      cwd,
      env: { PYTHONPATH: 'src', PYTHONDONTWRITEBYTECODE: '1', PATH: `${programs}:${process.env.PATH}` },
    })

  test('passes its tests', async () => {
    const printed = await python([
      '-m',
      ...commandsOf('python').test,
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

  // test/nightly/clients/minima.test.ts runs its tests with these libraries.
  test('asks for the libraries that its stubs need, and for none that may fail to run them', () => {
    const made = (file: string) =>
      readFileSync(join(client, 'src', GENERATED, `portcullis/v1/authorization_${file}.py`), 'utf8')
    const [, grpcio] = /^GRPC_GENERATED_VERSION = '(.+)'$/m.exec(made('pb2_grpc')) ?? []
    const [, protobuf] = /^# Protobuf Python Version: (.+)$/m.exec(made('pb2')) ?? []
    const project = readFileSync(join(client, 'pyproject.toml'), 'utf8')
    // Protobuf runs the stubs of its own and of the previous major version.
    const end = Number.parseInt(protobuf ?? '', 10) + 2
    expect(project).toContain(`dependencies = ["grpcio>=${grpcio}", "protobuf>=${protobuf},<${end}", `)
  })

  test('has types, stubs and every module in the wheel that its source distribution makes elsewhere', async () => {
    const folder = newFolder()
    const build = async (target: string, cwd: string, ending: string) => {
      await python(['-m', 'hatchling', 'build', '--target', target, '--directory', folder], cwd, tools)
      return readdirSync(folder).find((file) => file.endsWith(ending)) ?? ''
    }
    const sdist = await build('sdist', client, '.tar.gz')
    await python(['-m', 'tarfile', '--extract', join(folder, sdist), folder])
    const wheel = await build('wheel', join(folder, sdist.replace('.tar.gz', '')), '.whl')
    const listed = await python(['-m', 'zipfile', '--list', join(folder, wheel)])
    const sources = readdirSync(join(client, 'src'), { recursive: true, encoding: 'utf8' })
    for (const file of sources.filter((name) => /\.(pyi?|typed)$/.test(name))) expect(listed).toContain(file)
    // A wheel can be imported as it is, here as if the programs that made its stubs were not installed.
    const imported =
      'import sys; sys.modules["grpc_tools"] = None; import portcullis_client as client; print(client.__file__)'
    const said = await run(join(bin, 'python'), ['-c', imported], {
      env: { PYTHONPATH: join(folder, wheel) },
    })
    expect(said.trim()).toBe(join(folder, wheel, 'portcullis_client/__init__.py'))
  })
})
