/**
 * Each client with the oldest of what it asks for: libraries, and the releases of its language that this
 * machine can have. Its other tests run on the newest.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { manifestOf, packAll } from '../../support/checkout/packages.ts'
import { cargo } from '../../support/interop/cargo.ts'
import { repository, run } from '../../support/interop/command.ts'
import { available, obtained } from '../../support/interop/obtain.ts'
import {
  installedFromPython,
  makePythonStubs,
  pythonBuildTools,
} from '../../support/interop/python-packages.ts'
import { findOlderNode } from '../../support/interop/runtimes.ts'
import { passesInstalledClient } from '../../support/interop/sidecar.ts'
import { newFolder } from '../../support/suite/resources.ts'

const folderOf = (language: string) => join(repository, 'clients', language)
const textOf = (language: string, file: string) => readFileSync(join(folderOf(language), file), 'utf8')

describe('the Python client', async () => {
  const project = textOf('python', 'pyproject.toml')
  const [, oldest = ''] = /^requires-python = ">=(.+)"$/m.exec(project) ?? []
  // A machine may have several ones behind pyenv.
  process.env.PYENV_VERSION = [oldest, '3'].join(':')
  const python = await obtained(`Python ${oldest}`, () => run(`python${oldest}`, ['--version']))
  const minima = [...project.matchAll(/"([\w-]+)>=([\d.]+)[^"]*"/g)].map(
    ([, name, version]) => `${name}==${version}`,
  )
  const programs = textOf('python', 'requirements-dev.txt').match(/^(gevent|pytest|uvicorn).*$/gm) ?? []
  const bin = await available(
    'the oldest libraries of the Python client',
    async () => ({
      bin: await installedFromPython(
        'python-minima',
        [...minima, ...programs],
        undefined,
        python.ok ? `python${oldest}` : 'python3',
      ),
      tools: await pythonBuildTools(),
    }),
    async ({ bin, tools }) => {
      await makePythonStubs(tools)
      return bin
    },
  )
  const runs = (...args: readonly string[]) =>
    run(join(bin.ok ? bin.value : '', 'python'), args, {
      cwd: folderOf('python'),
      env: { PYTHONPATH: 'src', PYTHONDONTWRITEBYTECODE: '1' },
    })

  test.runIf(bin.ok)('is imported with them, without a warning', async () => {
    const modules = [
      'asgi',
      'fastapi',
      'grpc',
      'httpx',
      'requests',
      'wsgi',
      'gen.portcullis.v1.directory_pb2_grpc',
    ]
    expect(minima.length).toBe(6)
    await runs('-W', 'error', '-c', modules.map((name) => `import portcullis_client.${name}`).join('; '))
  })

  test.runIf(bin.ok)('passes its tests with them', async () => {
    expect(await runs('-m', 'pytest', '-q', '-p', 'no:cacheprovider')).toMatch(/^\d+ passed/m)
  })
})

describe('the TypeScript client', async () => {
  const olderNode = await findOlderNode()
  const tarballs = packAll(newFolder())
  const project = newFolder()
  const { dependencies = {} } = manifestOf('clients/typescript')
  const minima = Object.entries(dependencies).map(([each, range]) => `${each}@${range.replace('^', '')}`)
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n')
  const installed = await obtained('the oldest libraries of the TypeScript client', () =>
    run(
      'npm',
      [
        'install',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        tarballs.get('clients/typescript') ?? '',
        ...minima,
      ],
      { cwd: project },
    ),
  )

  test.runIf(installed.ok).for([
    ['this Node', process.execPath],
    ['a Node older than 24', olderNode],
  ] as const)('asks with them, on %s', async ([, node], { skip }) => {
    if (node === undefined) return skip()
    expect(await passesInstalledClient(node, project)).toBe(true)
  })
})

describe.runIf(inject('go').ok)('the Go client', async () => {
  // Its libraries are the oldest already: those of go.mod. Two releases of Go are supported at a time.
  const [, major = '', minor = ''] = /^go (\d+)\.(\d+)\.0$/m.exec(textOf('go', 'go.mod')) ?? []
  const releases = [Number(minor), Number(minor) + 1].map((each) => `go${major}.${each}.0`)

  test.for(releases)('passes its tests with %s', async (release, { skip }) => {
    const env = { GOTOOLCHAIN: release, GOWORK: 'off' }
    const go = (...args: readonly string[]) => run('go', args, { cwd: folderOf('go'), env })
    const had = await obtained(release, () => go('version'))
    if (!had.ok) return skip()
    expect(had.value).toContain(release)
    expect(await go('test', '-count=1', '-timeout=1h', './...')).toMatch(/^ok\s/m)
  })
})

describe('the Rust client', async () => {
  const toolchain = await obtained('Rust', () => cargo(['--version']))

  test.runIf(toolchain.ok)('passes its tests with the oldest libraries that it names', async () => {
    // Beside what the tests read, and where cargo may write another lock.
    const root = newFolder()
    const client = join(root, 'clients/rust')
    mkdirSync(client, { recursive: true })
    cpSync(join(repository, 'proto'), join(root, 'proto'), { recursive: true })
    cpSync(join(repository, 'clients/conformance'), join(root, 'clients/conformance'), { recursive: true })
    cpSync(folderOf('rust'), client, { recursive: true, verbatimSymlinks: true })
    rmSync(join(client, 'Cargo.lock'))
    // An option of cargo alone; the compiled code is as always.
    await cargo(['-Z', 'direct-minimal-versions', 'generate-lockfile'], {
      cwd: client,
      env: { RUSTC_BOOTSTRAP: '1' },
    })
    const lock = readFileSync(join(client, 'Cargo.lock'), 'utf8')
    for (const [, crate, version] of textOf('rust', 'Cargo.toml').matchAll(
      /^(prost|tonic|http) = \D*([\d.]+)/gm,
    ))
      expect(lock).toContain(`name = "${crate}"\nversion = "${version}"`)
    expect(await cargo(['test', '--locked', '--all-features', '--lib'], { cwd: client })).toMatch(
      /^test result: ok/m,
    )
  })
})

describe('the Java client', async () => {
  // Those that it brings are exactly those of its pom, with which its tests run. These are of the program.
  const [, spring] = /Spring (\d+\.\d+) and OkHttp \d+\.\d+ or later/.exec(textOf('java', 'README.md')) ?? []
  const [, okHttp] = /OkHttp (\d+\.\d+) or later/.exec(textOf('java', 'README.md')) ?? []
  const maven = await obtained('Maven', () => run('mvn', ['--version']))

  test.runIf(maven.ok)('passes its tests with the oldest Spring and OkHttp that its page names', async () => {
    const versions = [`-Dspring.version=${spring}.0`, `-Dokhttp.version=${okHttp}.0`]
    const folder = newFolder()
    const args = ['-q', '-B', `-Dbuild.folder=${folder}`, ...versions, 'test', '-Dtest=GuardTest,SendingTest']
    await run('mvn', args, { cwd: folderOf('java') })
  })
})
