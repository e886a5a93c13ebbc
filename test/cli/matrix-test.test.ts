/** `portcullis matrix test`: the files that are found, what is refused and where, coverage, and watching. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from '../support/checkout/sources.ts'
import { command } from '../support/processes/command-line.ts'
import { LAUNCHER, startProcess } from '../support/processes/processes.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const folder = newFolder()
let files = 0

/** A file of tests in a separate folder. */
function testsFile(text: string, name = 'policy-tests.yaml'): string {
  const own = join(folder, String(files++))
  mkdirSync(own)
  const path = join(own, name)
  writeFileSync(path, text)
  return path
}

const run = (...args: readonly string[]) => command(['matrix', 'test', ...args])

const DIGEST = 'sha256:50bafc5426a4b72210c2dde11ec22d9fa777e6086033976298fea7b3aa619c48'
const PASSING = 'tests:\n  - { api: iam, kind: static_token, allowed: false }\n'
const FAILING = `${PASSING}  - name: "reports <& 'all' #1"
    api: reports
    kinds: [static_token, iam_token_account_scoped]
    mode: both
    reason: ALLOWED
`
const MATRIX = join(ROOT, 'matrix/support-matrix.json')

describe('a run', () => {
  test('that passes ends with 0', async () => {
    const path = testsFile(PASSING)
    const stdout = `${path}: 1 test passed, 1 question to ${DIGEST}\n`
    expect(await run(path)).toEqual({ code: 0, stdout, stderr: '' })
    expect(await run(path, '--matrix', MATRIX)).toEqual({ code: 0, stdout, stderr: '' })
  })

  test('that fails ends with 1, and says where, what was expected and what was found', async () => {
    const path = testsFile(FAILING)
    const { code, stdout } = await run(path)
    expect(code).toBe(1)
    expect(stdout).toBe(`${path}:3:5: reports <& 'all' #1
  reports × iam_token_account_scoped, in both modes
    expected  allowed
    found     denied: TOKEN_KIND_NOT_ACCEPTED
    message   \`reports\` does not accept an account-scoped IAM token; it accepts a static token in \`X-Token\`

${path}: 1 of 2 tests failed, 5 questions to ${DIGEST}
`)
  })

  test('in strict mode is one of the tests that name no mode', async () => {
    const path = testsFile(`tests:
  - { api: cdn, kind: iam_token_project_scoped, reason: CONTESTED }
  - { api: cdn, kind: iam_token_project_scoped, reason: ALLOWED, mode: lenient }
`)
    expect((await run(path)).code).toBe(1)
    expect((await run('--strict', path)).code).toBe(0)
    expect(JSON.parse((await run(path, '--strict', '--json')).stdout)).toMatchObject({
      mode: 'strict',
      failed: 0,
    })
  })

  test('can be one of some tests', async () => {
    const path = testsFile(FAILING)
    expect(await run(path, '--filter', 'IAM')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('1 of 2'),
    })
    expect(await run(path, '--filter', 'api: iam')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--filter: no test'),
    })
    expect((await run(path, '--filter', 'iam × ')).code).toBe(0)
  })

  test('of a folder has the files with the name of tests, each once, by name', async () => {
    const root = newFolder()
    for (const path of ['b', 'a/deep', 'node_modules/x', '.hidden'])
      mkdirSync(join(root, path), { recursive: true })
    const named = ['a/deep/cdn.policy-tests.yml', 'b/policy-tests.json', 'policy-tests.yaml']
    const others = [
      'b/tests.yaml',
      'b/mypolicy-tests.yaml',
      'node_modules/x/policy-tests.yaml',
      '.hidden/policy-tests.yaml',
    ]
    for (const path of [...named, ...others])
      writeFileSync(join(root, path), path.endsWith('.json') ? JSON.stringify(parse(PASSING)) : PASSING)
    symlinkSync(root, join(root, 'b/loop'))
    const { code, stdout } = await run(root, join(root, 'policy-tests.yaml'), '--json')
    expect(code).toBe(0)
    const { files: found } = JSON.parse(stdout) as { files: { file: string }[] }
    expect(found.map(({ file }) => file)).toEqual(named.map((path) => join(root, path)))
    const text = (await run(root)).stdout
    expect(text).toBe(
      `${named.map((path) => `${join(root, path)}: 1 test passed\n`).join('')}3 tests passed, 3 questions to ${DIGEST}\n`,
    )
  })
})

describe('routes', () => {
  const routes = `routes:
  - { path: /billing/, api: balance }
  - { path: "/v2/{account}/", api: dedicated-servers, target: { account: { segment: account } } }
`
  const requests = `tokens:
  ours: { kind: iam_token_account_scoped, scope: { account: "1" } }
tests:
  - { request: GET https://api.example.com/billing/x, headers: { X-Auth-Token: ours }, api: balance, allowed: true }
  - { request: GET /billing/x, headers: { Host: api.example.com, X-Auth-Token: [ours, ours] }, reason: CREDENTIAL_AMBIGUOUS }
  - { request: GET /billing/../iam, refused: NOT_CANONICAL }
  - { request: GET /iam, headers: { X-Auth-Token: ours }, refused: NO_ROUTE }
`

  test('come from the configuration, with its matrix and its mode', async () => {
    const path = testsFile(requests)
    const config = join(path, '../portcullis.yaml')
    writeFileSync(config, `${routes}matrix: ${MATRIX}\nstrict: true\n`)
    const { code, stdout, stderr } = await run(path, '--config', config, '--coverage')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('routes     50 %    1 of 2\n')
    expect(stdout).toContain('routes that no test asks about:\n  any method any host /v2/{account}/\n')
    expect(JSON.parse((await run(path, '--config', config, '--json')).stdout)).toMatchObject({
      mode: 'strict',
    })
  })

  test('or from a file that the tests name, seen from there', async () => {
    const path = testsFile(`routes: ../routes.yaml\n${requests}  - request: GET /v2/2/servers
    headers: { X-Auth-Token: ours }
    target: { account: "2" }
    reason: ACCOUNT_MISMATCH
`)
    writeFileSync(join(path, '../../routes.yaml'), routes)
    expect(await run(path, '--coverage')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/routes +100 % +2 of 2/),
    })
  })

  test.each([
    [
      'are missing',
      '',
      /policy-tests\.yaml:4:7: tests\[0\]\.request: expected `routes` in this file, or --config/,
    ],
    ['are in no file', 'routes: none.yaml\n', /none\.yaml: the file does not exist/],
    ['are not in the file', 'routes: policy-tests.yaml\n', /policy-tests\.yaml: /],
  ])('that %s are an error', async (_claim, line, expected) => {
    const path = testsFile(`${line}${requests}`)
    expect(await run(path)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(expected) })
  })

  test('of an API that is not in the matrix are an error', async () => {
    const path = testsFile(`routes: routes.yaml\n${requests}`)
    writeFileSync(join(path, '../routes.yaml'), 'routes: [{ path: /, api: none }]')
    const stderr = expect.stringContaining('routes[0].api: expected the id of an API of the matrix')
    expect(await run(path)).toMatchObject({ code: 2, stderr })
  })
})

describe('coverage', () => {
  test('that is too small ends with 1, and says of what', async () => {
    const path = testsFile(PASSING)
    const { code, stdout, stderr } = await run(path, '--coverage-min', '1.2')
    expect(code).toBe(1)
    expect(stdout).toContain(
      'coverage\ncells      1.1 %  1 of 90\nconflicts  0 %    0 of 4\nreasons    6.2 %  1 of 16\n',
    )
    expect(stdout).toContain('  iam × iam_token_account_scoped, iam_token_project_scoped\n')
    expect(stderr).toContain('coverage of cells: expected at least 1.2 %, found 1.1 %')
    expect(stderr).toContain('coverage of conflicts: expected at least 1.2 %, found 0 %')
    expect(stderr).not.toContain('reasons')
    expect((await run(path, '--coverage-min', '0')).code).toBe(0)
  })

  test.each(['', '-1', '101', 'all', '1e1'])('of %j percent is refused', async (percent) => {
    expect((await run(testsFile(PASSING), `--coverage-min=${percent}`)).code).toBe(2)
  })
})

describe('an invalid test is refused with its line and column:', () => {
  test.each<[claim: string, text: string, expected: string]>([
    [
      'an unknown field',
      'tests:\n  - {api: iam, knid: a, allowed: true}',
      ':2:16: tests[0].knid: unknown field; did you mean `kind`?',
    ],
    ['an unknown reason', 'tests:\n  - {api: iam, reason: CONTSTED}', 'did you mean `CONTESTED`?'],
    [
      'broken YAML',
      'tests:\n  - [',
      'expected YAML; the indentation does not fit, or a bracket is not closed at line 2, column 6',
    ],
  ])('%s', async (_claim, text, expected) => {
    const path = testsFile(text)
    const { code, stdout, stderr } = await run(path)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`portcullis: the tests cannot be run:\n  ${path}`)
    expect(stderr).toContain(expected)
  })

  test('all problems of all files at once; for programs as violations', async () => {
    const paths = ['iamm', 'cdnn'].map((api) => testsFile(`tests:\n  - {api: ${api}, allowed: true}`))
    const { code, stderr } = await run(...paths, '--json')
    expect(code).toBe(2)
    const { error } = JSON.parse(stderr) as { error: { reason: string; violations: { field: string }[] } }
    expect(error.reason).toBe('TESTS_INVALID')
    expect(error.violations.map(({ field }) => field)).toEqual(paths.map((path) => `${path}:2: tests[0].api`))
  })

  test('a value of a credential header is never shown', async () => {
    const value = 'pcst_copied_from_somewhere'
    const path = testsFile(`tokens:\n  ${value}: { knd: a }\ntests:\n  - { api: iam, allowed: true }\n`)
    const { stderr } = await run(path)
    expect(stderr).toContain(`${path}:2:`)
    expect(stderr).toContain('.knd: unknown field; did you mean `kind`?')
    expect(stderr).not.toContain(value)
    const tests = `tokens:\n  ${value}: { kind: none }\ntests:\n  - { api: iam, headers: { X-Token: ${value} }, allowed: true }\n`
    const unknown = await run(testsFile(tests))
    expect(unknown.stderr).toContain('there is no kind `none`')
    const failing = await run(testsFile(tests.replace('none', 'static_token')))
    expect(failing.stdout).toContain('iam × X-Token')
    expect(unknown.stderr + failing.stdout).not.toContain(value)
  })

  test('more than the bounds', async () => {
    const large = testsFile(`#${' '.repeat(2 * 1024 * 1024)}\n${PASSING}`)
    expect((await run(large)).stderr).toContain('expected at most 2097152 bytes, found ')
    const row = { apis: Array(1_000).fill('iam'), kinds: Array(5_000).fill('static_token'), allowed: true }
    const many = ['lenient', 'strict', 'both'].map((mode) =>
      newFile(JSON.stringify({ tests: [{ ...row, mode }] }), 'policy-tests.json'),
    )
    expect((await run(...many)).stderr).toContain('expected at most 10000000 questions in a run')
    const binary = testsFile('')
    writeFileSync(binary, Buffer.from([0xff, 0xfe, 0x00]))
    expect((await run(binary)).stderr).toContain('expected UTF-8 text')
  })

  test('no file, an unreadable one, and one without an end', async () => {
    expect((await run(newFolder())).stderr).toMatch(
      /no tests in .*; `portcullis matrix test --init` writes one/,
    )
    expect((await run('/dev/zero')).stderr).toContain('/dev/zero: expected a file or a folder')
    expect((await run(join(folder, 'none.yaml'))).stderr).toMatch(/none\.yaml cannot be read \(ENOENT\)/)
  })

  test('a matrix that is not valid', async () => {
    const path = testsFile(PASSING)
    const matrix = join(path, '../matrix.json')
    writeFileSync(matrix, '{}')
    expect(await run(path, '--matrix', matrix)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the matrix is not valid'),
    })
  })
})

describe('--init', () => {
  test('writes tests that pass and ask about everything, and replaces no file', async () => {
    const path = join(newFolder(), 'policy-tests.yaml')
    expect(await run('--init', path)).toEqual({
      code: 0,
      stdout: `${path}: tests of ${DIGEST}\n`,
      stderr: '',
    })
    expect(await run(path, '--coverage-min', '100')).toMatchObject({ code: 0, stderr: '' })
    const again = await run('--init', path)
    expect(again).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('exists; remove it, or name another file'),
    })
    expect((await run(path, '--init', join(folder, 'other.yaml'))).code).toBe(2)
  })

  test.each([
    ['support-matrix', []],
    ['city-library', ['--matrix', join(ROOT, 'examples/matrices/city-library.json')]],
  ])('the tests of %s are those of the example', async (name, matrix) => {
    const example = join(ROOT, 'examples/matrices', `${name}.policy-tests.yaml`)
    const path = join(newFolder(), 'policy-tests.yaml')
    await run('--init', path, ...matrix)
    const ofMatrix = (file: string) => readFileSync(file, 'utf8').replace(/(?<=\$schema=).*/, '')
    expect(ofMatrix(example)).toBe(ofMatrix(path))
    const [, schema = ''] = /\$schema=(.*)/.exec(readFileSync(example, 'utf8')) ?? []
    expect(join(example, '..', schema)).toBe(join(ROOT, 'sidecar/config/policy-tests.schema.json'))
    expect(await run(example, '--coverage-min', '100', ...matrix)).toMatchObject({ code: 0, stderr: '' })
  })
})

test('--watch runs again when a test or the matrix changes, and when a file is there again, until Ctrl-C', async () => {
  const path = testsFile(PASSING)
  const matrix = join(path, '../matrix.json')
  const text = readFileSync(MATRIX, 'utf8')
  writeFileSync(matrix, text)
  const watching = startProcess([
    process.execPath,
    LAUNCHER,
    'matrix',
    'test',
    path,
    '--matrix',
    matrix,
    '--watch',
  ])
  const counts = () => ({
    passed: watching.stdout().split('1 test passed').length - 1,
    failed: watching.stdout().split('tests failed').length - 1,
    refused: watching.stderr().split('portcullis:').length - 1,
  })
  const until = (passed: number, failed: number, refused: number) =>
    watching.until(() => {
      const found = counts()
      return found.passed === passed && found.failed === failed && found.refused === refused
    })
  await until(1, 0, 0)
  writeFileSync(path, FAILING)
  await until(1, 1, 0)
  writeFileSync(path, 'tests: [')
  await until(1, 1, 1)
  writeFileSync(path, PASSING)
  await until(2, 1, 1)
  writeFileSync(matrix, text.replace('"title": "', '"title": "Another '))
  await until(3, 1, 1)
  watching.signal('SIGINT')
  expect(await watching.ended).toMatchObject({ code: 0 })
})
