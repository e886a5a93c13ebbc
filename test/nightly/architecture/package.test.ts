/**
 * The packages as a user gets them: each packed, put into a separate project, imported by Node and checked by
 * TypeScript. test/nightly/packages.test.ts shows that npm installs the same from a registry, and that other
 * runtimes run it.
 */
import { execFile, spawnSync } from 'node:child_process'
import { globSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createContext, runInContext } from 'node:vm'
import type { ServiceDefinition } from '@grpc/proto-loader'
import { build } from 'esbuild'
import { publint } from 'publint'
import { beforeAll, describe, expect, test } from 'vitest'
import { ALLOWED_LICENSES } from '../../../scripts/licenses.ts'
import { SCHEMA_VERSION } from '../../../sidecar/directory/schema.ts'
import { consumers } from '../../support/checkout/package-consumers.ts'
import {
  environment,
  FOLDERS,
  filesOf,
  manifestOf,
  packAll,
  projectWith,
} from '../../support/checkout/packages.ts'
import { ROOT } from '../../support/checkout/sources.ts'
import { BlackBox, type Message, protosOf } from '../../support/contract/black-box.ts'
import { cells, scopeFor } from '../../support/matrices/oracle.ts'
import { urlsLoadedBy } from '../../support/processes/loaded.ts'
import { serve } from '../../support/processes/processes.ts'
import { runSidecar } from '../../support/sidecar/sidecar.ts'
import { newFolder } from '../../support/suite/resources.ts'

const folder = realpathSync(newFolder())

let tarballs: ReadonlyMap<string, string>
beforeAll(() => {
  tarballs = packAll(folder)
  for (const each of FOLDERS) projectWith(alone(each), tarballs, [each])
  projectWith(together, tarballs, ['engine', 'matrix'])
})

/** The project that has this package and its dependencies, and nothing else. */
const alone = (packageFolder: string): string => join(folder, 'alone', packageFolder)
/** The project of an embedder. */
const together = join(folder, 'together')

const NAMES = FOLDERS.map((each) => [manifestOf(each).name, each] as const)

/** Folder → what its package may hold, beside `package.json`, `README.md` and `LICENSE`, which each must. */
const CONTENT: Readonly<Record<string, readonly RegExp[]>> = {
  engine: [/^dist\/engine\/(index\.js|\w+\.d\.ts)$/],
  matrix: [
    /^dist\/matrix\/((index|yaml|import\/index)\.js|[\w/-]+\.d\.ts)$/,
    /^dist\/chunks\/[\w-]+\.js$/,
    /^dist\/engine\/\w+\.d\.ts$/,
    /^dist\/third-party-licenses\.txt$/,
    /^support-matrix(\.schema)?\.json$/,
  ],
  'clients/typescript': [
    /^dist\/clients\/typescript\/((index|node|fastify|hono|fetch)\.js|[\w-]+\.d\.ts)$/,
    /^dist\/(engine|proto\/gen)\/[\w/]+\.d\.ts$/,
    /^dist\/chunks\/[\w-]+\.js$/,
    /^dist\/third-party-licenses\.txt$/,
  ],
  sidecar: [
    /^dist\/sidecar\/(index|base\/light-start|cli\/main|directory\/file-thread|directory\/file-work|process\/workers\/primary|process\/workers\/statement-thread|process\/workers\/worker|rules\/matrix-file\/read-in-thread|rules\/matrix-file\/thread)\.js$/,
    /^dist\/(engine|matrix|proto|sidecar)\/[\w/-]+\.d\.ts$/,
    /^dist\/chunks\/[\w-]+\.js$/,
    /^proto\/portcullis\/v1\/\w+\.proto$/,
    /^proto\/(portcullis|google_rpc|health|envoy)\.binpb$/,
    /^proto\/openapi\.json$/,
    /^dist\/console\/((index|explorer)\.html|assets\/[a-z-]+-[0-9A-Z]{8}\.(js|css))$/,
    /^dist\/third-party-licenses\.txt$/,
    /^(portcullis\.js|CHANGELOG\.md|config\/policy-tests\.schema\.json)$/,
  ],
}

test.each(NAMES)('%s holds compiled code and its documents, and nothing else', (_name, each) => {
  const files = [...filesOf(tarballs.get(each) ?? '').keys()]
  const always = ['LICENSE', 'README.md', 'package.json']
  expect(files).toEqual(expect.arrayContaining(always))
  const unexpected = files.filter(
    (path) => !always.includes(path) && !CONTENT[each]?.some((pattern) => pattern.test(path)),
  )
  expect(unexpected).toEqual([])
})

test('the package of the sidecar holds the whole contract', () => {
  const packed = [...filesOf(tarballs.get('sidecar') ?? '').keys()]
  const contract = globSync('proto/**/*.proto', { cwd: ROOT })
  expect(contract.length).toBeGreaterThan(0)
  expect(packed).toEqual(expect.arrayContaining(contract))
})

test.each(NAMES)('%s passes publint', async (_name, each) => {
  const content = readFileSync(tarballs.get(each) ?? '')
  const tarball = content.buffer.slice(content.byteOffset, content.byteOffset + content.byteLength)
  expect(await publint({ pack: { tarball: tarball as ArrayBuffer }, strict: true })).toMatchObject({
    messages: [],
  })
})

test.each(NAMES)('%s is imported by its name and exports what its sources do', async (name, each) => {
  const names = await evaluate(alone(each), `Object.keys(await import('${name}'))`)
  expect(names).not.toEqual([])
  const source = JSON.stringify(join(ROOT, each, 'index.ts'))
  expect(names).toEqual(await evaluate(ROOT, `Object.keys(await import(${source}))`))
})

test('the installed engine and matrix decide every cell as the source prints it', async () => {
  const questions = cells().map(({ api, kind }) => ({ api, kind, scope: scopeFor(kind) }))
  const allowed = await evaluate(
    together,
    `await (async () => {
      const { compile } = await import('@portcullis/engine')
      const { supportMatrix } = await import('@portcullis/matrix')
      const engine = compile(supportMatrix)
      return ${JSON.stringify(questions)}.map((question) => engine.decide(question).allowed)
    })()`,
  )
  expect(allowed).toEqual(cells().map((cell) => cell.accepted))
})

test('the engine and the matrix have no dependencies, and take less than 700 kB of a disk together', () => {
  for (const each of ['engine', 'matrix']) expect(manifestOf(each).dependencies).toBeUndefined()
  const files = ['engine', 'matrix'].flatMap((each) => [...filesOf(tarballs.get(each) ?? '')])
  const bytesOf = (some: typeof files) =>
    // A file takes whole blocks.
    some
      .map(([, { content }]) => Math.ceil(content.length / 4096) * 4096)
      .reduce((sum, each) => sum + each, 0)
  const [parsers, others] = [true, false].map((isParser) =>
    files.filter(([path]) => /\/(?:yaml|import\/index)\.js$/.test(path) === isParser),
  ) as [typeof files, typeof files]
  expect(bytesOf(others)).toBeLessThan(700_000)
  // The parsers of YAML, Markdown, HTML and CSV, which only those load who read them.
  expect(bytesOf(parsers)).toBeGreaterThan(100_000)
  expect(bytesOf(parsers)).toBeLessThan(450_000)
})

/** The code of others in each package. The licenses of its dependencies come with them. */
const OF_OTHERS: Readonly<Record<string, readonly string[]>> = {
  engine: [],
  matrix: [
    ...['ajv', 'csv-parse', 'entities', 'fast-deep-equal', 'htmlparser2', 'jsonc-parser', 'marked', 'yaml'],
  ],
  'clients/typescript': [],
  sidecar: ['@simplewebauthn/browser', 'ajv', 'fast-deep-equal', 'jsonc-parser', 'preact', 'yaml'],
}

describe.each(NAMES)('the file of licenses in %s', (_name, each) => {
  const packed = () => filesOf(tarballs.get(each) ?? '')
  const licenses = () => packed().get('dist/third-party-licenses.txt')?.content.toString() ?? ''

  test('has the full text of each license', () => {
    for (const name of OF_OTHERS[each] ?? []) {
      const [file = ''] = globSync(`node_modules/${name}/LICEN[CS]E*`, { cwd: ROOT })
      const { version, license } = manifestOf(`node_modules/${name}`)
      const text = readFileSync(join(ROOT, file), 'utf8').trim()
      expect(licenses()).toContain(`${name} ${version}\n${license}\n\n${text}\n`)
      expect(ALLOWED_LICENSES).toContain(license)
    }
  })

  test('names all packages that the code names', () => {
    const code = [...packed()].filter(([path]) => path.endsWith('.js')).map(([, { content }]) => `${content}`)
    const named = code.flatMap((text) =>
      Array.from(
        text.replaceAll('\\\n', '').matchAll(/(?:["']|\/\/ )node_modules\/((?:@[^/"']+\/)?[^/"']+)\//g),
        ([, name = '']) => name,
      ),
    )
    expect([...new Set(named)].filter((name) => !OF_OTHERS[each]?.includes(name))).toEqual([])
  })
})

test.each([
  ['clients/typescript', ['google.protobuf', 'google.rpc']],
  ['sidecar', ['google.protobuf', 'google.rpc', 'grpc.health.v1']],
])(
  'the package in %s has the licenses of the protos that its messages are generated from',
  (each, protos) => {
    const licenses = filesOf(tarballs.get(each) ?? '').get('dist/third-party-licenses.txt')
    const found = `${licenses?.content}`.matchAll(/^([\w.]+), .*\n(?:BSD-3-Clause|Apache-2\.0)\n\n./gm)
    expect(Array.from(found, ([, name]) => name)).toEqual(protos)
  },
)

/** A browser has neither Node's modules nor code from strings under a strict content security policy. */
test('the engine and the matrix are bundled for a browser, and decide in a context that has only the language', async () => {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { compile } from '@portcullis/engine'
        import { lintMatrix, planTokens, supportMatrix } from '@portcullis/matrix'
        export const engine = compile(supportMatrix)
        export const problems = lintMatrix(supportMatrix).problems
        export const plan = planTokens(engine, ['reports'])`,
      resolveDir: together,
    },
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'iife',
    globalName: 'bundle',
  })
  const context = createContext(Object.create(null), { codeGeneration: { strings: false, wasm: false } })
  runInContext(outputFiles.map(({ text }) => text).join(), context)
  const [cell] = cells().filter(({ accepted }) => accepted)
  const question = { api: cell?.api, kind: cell?.kind, scope: scopeFor(cell?.kind ?? '') }
  const answers = runInContext(
    `JSON.stringify([bundle.engine.decide(${JSON.stringify(question)}).allowed, bundle.problems.length, bundle.plan.tokens.length])`,
    context,
  )
  expect(JSON.parse(answers)).toEqual([true, 0, 1])
})

test.each([
  ['@portcullis/matrix/support-matrix.json', 'matrix', 'support-matrix.json'],
  ['@portcullis/matrix/support-matrix.schema.json', 'matrix', 'support-matrix.schema.json'],
  ['portcullis/policy-tests.schema.json', 'sidecar', 'config/policy-tests.schema.json'],
  ...NAMES.map(([name, each]) => [`${name}/package.json`, each, 'package.json']),
])('%s is the file of %s', async (specifier, each, file) => {
  const content = await evaluate(
    alone(each),
    `(await import('${specifier}', { with: { type: 'json' } })).default`,
  )
  expect(content).toEqual(JSON.parse(readFileSync(join(ROOT, each, file), 'utf8')))
})

test.each([
  ['engine', '@portcullis/engine/dist/engine/index.js'],
  ['matrix', '@portcullis/matrix/dist/matrix/index.js'],
  ['clients/typescript', '@portcullis/client/dist/clients/typescript/index.js'],
  ['sidecar', 'portcullis/dist/sidecar/index.js'],
  ['sidecar', 'portcullis/sidecar'],
  ['sidecar', 'portcullis/cli/main.ts'],
])('a private file of the package in %s stays private: %s', async (each, specifier) => {
  const code = await evaluate(
    alone(each),
    `await import('${specifier}').then(() => 'imported', (error) => error.code)`,
  )
  expect(code).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED')
})

describe('the command line of the installed package', () => {
  const launcher = join(alone('sidecar'), 'node_modules/portcullis/portcullis.js')
  const portcullis = (...args: string[]) =>
    spawnSync(process.execPath, [launcher, ...args], {
      cwd: alone('sidecar'),
      env: environment,
      encoding: 'utf8',
    })

  test('runs', () => {
    expect(portcullis('--version').stdout.trim()).toBe(
      `${manifestOf('sidecar').version} (directory ${SCHEMA_VERSION})`,
    )
    expect(portcullis('matrix').stdout).toContain('X-Auth-Token')
  })

  test('reads few files for a start with gRPC alone', async () => {
    const urls = await urlsLoadedBy(['--data', join(folder, 'few')], { launcher })
    const ours = urls.filter((url) => url.includes('/portcullis/dist/'))
    expect(ours.length).toBeGreaterThan(1)
    expect(ours.length).toBeLessThan(16)
  })

  test('starts workers: it is one of them that refuses', () => {
    const addresses = ['--grpc', '0.0.0.0:0', '--http', 'off', '--data', join(folder, 'data')]
    const { status, stderr } = portcullis('serve', '--workers', '2', ...addresses)
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringMatching(/^portcullis: grpc address 0\.0\.0\.0:0 can be reached [^\n]+\n$/),
    })
  })

  test('serves reflection from the descriptors that are in the package', async () => {
    const { ready } = await serve(['--data', join(folder, 'reflected')], { launcher })
    const protos = protosOf('@grpc/reflection', 'build/proto/grpc/reflection/v1/reflection.proto')
    const service = protos['grpc.reflection.v1.ServerReflection'] as ServiceDefinition
    const stream = new BlackBox(ready.grpc, service).converse('serverReflectionInfo')
    stream.end({ file_containing_symbol: 'portcullis.v1.AuthorizationService' })
    const answers = await Array.fromAsync(stream as AsyncIterable<Message>)
    expect(answers).toMatchObject([
      { file_descriptor_response: { file_descriptor_proto: expect.anything() } },
    ])
  })
})

/** The first program of a README, and the text below it. */
test.each(NAMES)('the README of %s shows what its program prints', async (_name, each) => {
  const readme = readFileSync(join(ROOT, each, 'README.md'), 'utf8')
  const block = (language: string) => readme.split(`\n\`\`\`${language}\n`)[1]?.split('\n```')[0]
  const { address } = each === 'clients/typescript' ? await runSidecar() : { address: '' }
  const project = ['engine', 'matrix'].includes(each) ? together : alone(each)
  writeFileSync(join(project, 'readme.ts'), block('ts')?.replace('127.0.0.1:50051', address) ?? '')
  expect((await run([join(project, 'readme.ts')], project)).trimEnd()).toBe(block('text'))
})

describe('the declarations pass a strict check of every library, and say what the values are', () => {
  test.each(Object.entries(consumers))('%s', (name, { packages, types, program }) => {
    const project = projectWith(join(folder, 'types', name), tarballs, packages)
    writeFileSync(join(project, 'consumer.ts'), program)
    const compilerOptions = {
      target: 'es2023',
      lib: ['es2023'],
      module: 'nodenext',
      moduleResolution: 'nodenext',
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      resolveJsonModule: true,
      noEmit: true,
      typeRoots: [join(ROOT, 'node_modules/@types')],
      types,
    }
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
    const { status, stdout } = spawnSync(process.execPath, [compiler, '--project', project], {
      encoding: 'utf8',
    })
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
  })
})

/** The value of an expression in a module of a project's, as JSON. */
async function evaluate(project: string, expression: string): Promise<unknown> {
  const code = `process.stdout.write(JSON.stringify(${expression}))`
  return JSON.parse(await run(['--input-type=module', '--eval', code], project))
}

/** The output of Node. This process goes on meanwhile: it may be the one that is asked. */
async function run(parameters: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, parameters, { cwd, env: environment })
  return stdout
}
