/** What a user gets: the packed package, installed elsewhere, imported by Node and checked by TypeScript. */
import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cells, scopeFor } from '../support/oracle.ts'
import { ROOT } from '../support/sources.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'portcullis-package-')))
const consumer = join(folder, 'consumer')
const installed = join(consumer, 'node_modules/portcullis')

/** Without what the npm that runs the tests tells its children; on the Node that runs the tests. */
const environment = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
  PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
}

beforeAll(() => {
  mkdirSync(consumer)
  writeFileSync(join(consumer, 'package.json'), '{ "private": true, "type": "module" }\n')
  // `prepack` compiles.
  run('npm', ['pack', '--silent', '--pack-destination', folder], ROOT)
  const [tarball = ''] = globSync('*.tgz', { cwd: folder })
  run('npm', [
    'install',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    join(folder, tarball),
  ])
}, 300_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the package holds compiled code, the contract and the documents, and nothing else', () => {
  const files = globSync('**/*.*', { cwd: installed, exclude: ['node_modules/**'] })
  const unexpected = files.filter(
    (path) =>
      !/^dist\/(engine|matrix|sidecar)\/.*(\.js|\.d\.ts)$/.test(path) &&
      !/^dist\/chunks\/[\w-]+\.js$/.test(path) &&
      !/^matrix\/support-matrix(\.schema)?\.json$/.test(path) &&
      !/^proto\/.*\.(proto|binpb)$/.test(path) &&
      !/^(package\.json|docs\/bench\.svg|README\.md|ARCHITECTURE\.md|CHANGELOG\.md|sidecar\/portcullis\.js)$/.test(
        path,
      ),
  )
  expect(unexpected).toEqual([])
  expect(
    globSync('{LICENSE,README.md,ARCHITECTURE.md,CHANGELOG.md,docs/bench.svg}', { cwd: installed }).sort(),
  ).toEqual(['ARCHITECTURE.md', 'CHANGELOG.md', 'LICENSE', 'README.md', 'docs/bench.svg'])
  expect(globSync('proto/**/*.proto', { cwd: installed })).toHaveLength(
    globSync('proto/**/*.proto', { cwd: ROOT }).length,
  )
})

test.each([
  ['portcullis', 'engine/index.ts'],
  ['portcullis/matrix', 'matrix/index.ts'],
  ['portcullis/sidecar', 'sidecar/index.ts'],
  ['portcullis/client', 'sidecar/client/index.ts'],
])('%s is imported by its name and exports what %s does', (specifier, source) => {
  const names = evaluate(`Object.keys(await import('${specifier}'))`)
  expect(names).not.toEqual([])
  expect(names).toEqual(evaluate(`Object.keys(await import(${JSON.stringify(join(ROOT, source))}))`))
})

test('the installed engine and matrix decide every cell as the source prints it', () => {
  const questions = cells().map(({ api, kind }) => ({ api, kind, scope: scopeFor(kind) }))
  const allowed = evaluate(`await (async () => {
    const { compile } = await import('portcullis')
    const { supportMatrix } = await import('portcullis/matrix')
    const engine = compile(supportMatrix)
    return ${JSON.stringify(questions)}.map((question) => engine.decide(question).allowed)
  })()`)
  expect(allowed).toEqual(cells().map((cell) => cell.accepted))
})

test.each([
  ['portcullis/support-matrix.json', 'matrix/support-matrix.json'],
  ['portcullis/support-matrix.schema.json', 'matrix/support-matrix.schema.json'],
  ['portcullis/package.json', 'package.json'],
])('%s is the file %s', (specifier, source) => {
  const content = evaluate(`(await import('${specifier}', { with: { type: 'json' } })).default`)
  expect(content).toEqual(JSON.parse(readFileSync(join(ROOT, source), 'utf8')))
})

test.each(['portcullis/engine', 'portcullis/dist/engine/index.js', 'portcullis/dist/sidecar/base/secret.js'])(
  'what is private stays private: %s',
  (specifier) => {
    const code = evaluate(`await import('${specifier}').then(() => 'imported', (error) => error.code)`)
    expect(code).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED')
  },
)

test('the command line runs from the installed package', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const output = run(process.execPath, [join(consumer, 'node_modules/.bin/portcullis'), '--version'])
  expect(output.trim()).toBe(version)
})

test('workers run from the installed package: it is one of them that refuses', () => {
  const addresses = ['--grpc', '0.0.0.0:0', '--http', 'off', '--data', join(folder, 'data')]
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(consumer, 'node_modules/.bin/portcullis'), 'serve', '--workers', '2', ...addresses],
    { cwd: consumer, env: environment, encoding: 'utf8' },
  )
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: expect.stringMatching(/^portcullis: grpc address 0\.0\.0\.0:0 can be reached [^\n]+\n$/),
  })
})

test('the declarations pass a strict check of every library, and say what the values are', {
  timeout: 120_000,
}, () => {
  writeFileSync(
    join(consumer, 'consumer.ts'),
    `import { compile, type Decision, type Engine, type Question, REASONS, type Reason } from 'portcullis'
import { lintMatrix, loadMatrix, MatrixError, planTokens, supportMatrix } from 'portcullis/matrix'
import { connect } from 'portcullis/client'
import { readConfig, startSidecar, type Sidecar } from 'portcullis/sidecar'
import table from 'portcullis/support-matrix.json' with { type: 'json' }

const engine: Engine = compile(supportMatrix, { strict: true })
const question: Question = { api: 'iam', kind: 'static_token', scope: { account: '123456' } }
const decision: Decision = engine.decide(question)
const reason: Reason = decision.reason
const allowed: boolean = decision.allowed
const known: readonly string[] = REASONS
const kinds: string[] = planTokens(engine, ['iam']).tokens.map((token) => token.kind.id)
const problems: readonly { path: string }[] = lintMatrix(loadMatrix('{}')).problems
const error: Error = new MatrixError([])
const apis: number = table.apis.length
const sidecar: Promise<Sidecar> = startSidecar(readConfig())
connect('127.0.0.1:50051')

// @ts-expect-error a decision is shared, so nobody may change it
decision.allowed = true
// @ts-expect-error a scope is never left out
engine.decide({ api: 'iam', kind: 'static_token' })
// @ts-expect-error a reason is one of a closed list
const wrong: Reason = 'SOMETHING_ELSE'

export { allowed, apis, error, kinds, known, problems, reason, sidecar, wrong }
`,
  )
  writeFileSync(
    join(consumer, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        target: 'es2024',
        module: 'nodenext',
        moduleResolution: 'nodenext',
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        resolveJsonModule: true,
        noEmit: true,
        typeRoots: [join(ROOT, 'node_modules/@types')],
        types: ['node'],
      },
      files: ['consumer.ts'],
    }),
  )
  expect(check()).toBe('')
})

/** What TypeScript finds wrong with the consumer. */
function check(): string {
  try {
    return run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '--project', consumer])
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout)
  }
}

/** The value of an expression in a module of the consumer's, as JSON. */
function evaluate(expression: string): unknown {
  const code = `process.stdout.write(JSON.stringify(${expression}))`
  return JSON.parse(run(process.execPath, ['--input-type=module', '--eval', code]))
}

function run(command: string, parameters: string[], cwd: string = consumer): string {
  return execFileSync(command, parameters, { cwd, env: environment, encoding: 'utf8', stdio: 'pipe' })
}
