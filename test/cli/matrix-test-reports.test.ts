/** The reports of `portcullis matrix test`, read by other readers than ours where there are any. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SaxesParser } from 'saxes'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { command } from '../support/processes/command-line.ts'
import { newFolder } from '../support/suite/resources.ts'

/** A file of tests in a separate folder. */
function testsFile(text: string): string {
  const path = join(newFolder(), 'policy-tests.yaml')
  writeFileSync(path, text)
  return path
}

const run = (...args: readonly string[]) => command(['matrix', 'test', ...args])

interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  /** The text between the tags, without that of inner elements. */
  text: string
}

/** The elements, in the order of their first tags. @throws Error where the text is not well-formed */
function elementsOf(xml: string): XmlElement[] {
  const found: XmlElement[] = []
  const open: XmlElement[] = []
  const parser = new SaxesParser()
  parser.on('opentag', ({ name, attributes }) => {
    const element = { name, attributes, text: '' }
    found.push(element)
    open.push(element)
  })
  parser.on('text', (text) => {
    const around = open.at(-1)
    if (around !== undefined) around.text += text
  })
  parser.on('closetag', () => open.pop())
  parser.write(xml).close()
  return found
}

const DIGEST = 'sha256:50bafc5426a4b72210c2dde11ec22d9fa777e6086033976298fea7b3aa619c48'
const PASSING = 'tests:\n  - { api: iam, kind: static_token, allowed: false }\n'
const FAILING = `${PASSING}  - name: "reports <& 'all' #1"
    api: reports
    kinds: [static_token, iam_token_account_scoped]
    mode: both
    reason: ALLOWED
`

test('JSON has every test with its place, and what failed', async () => {
  const path = testsFile(FAILING)
  const { code, stdout } = await run(path, '--json', '--coverage')
  expect(stdout).toMatch(/^[^\n]+\n$/)
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ digest: DIGEST, mode: 'lenient', tests: 2, failed: 1, questions: 5 },
    files: [
      {
        file: path,
        tests: [
          { line: 2, column: 5, name: 'iam × static_token', passed: true, questions: 1 },
          { line: 3, passed: false, questions: 4, failed: 2, failures: [{ mode: 'both' }] },
        ],
      },
    ],
    coverage: { cells: { percent: 3.3, covered: 3, total: 90 } },
  })
  expect((await run(path, '--format', 'json', '--coverage')).stdout).toBe(stdout)
})

test('JUnit is XML with a case for each test', async () => {
  const path = testsFile(FAILING)
  const { code, stdout } = await run(path, '--format', 'junit', '--coverage')
  expect(code).toBe(1)
  const elements = elementsOf(stdout)
  const named = (name: string) => elements.filter((each) => each.name === name)
  expect(named('testsuites').map(({ attributes }) => attributes)).toMatchObject([
    { tests: '2', failures: '1' },
  ])
  expect(named('testsuite').map(({ attributes }) => attributes)).toMatchObject([
    { name: path, tests: '2', failures: '1' },
  ])
  expect(named('testcase').map(({ attributes }) => attributes)).toMatchObject([
    { name: 'iam × static_token', classname: path, file: path, line: '2' },
    { name: "reports <& 'all' #1", line: '3' },
  ])
  const [failure] = named('failure')
  expect(failure?.attributes).toEqual({ message: 'reports × iam_token_account_scoped, in both modes' })
  expect(failure?.text).toContain(
    `${path}:3:5\nreports × iam_token_account_scoped, in both modes\n  expected: allowed\n`,
  )
  expect(named('property').map(({ attributes }) => attributes)).toContainEqual({
    name: 'coverage.cells',
    value: '3.3',
  })
})

test('TAP has a line for each test, and what failed as YAML', async () => {
  const path = testsFile(FAILING)
  const { stdout } = await run(path, '--format', 'tap')
  const lines = stdout.trimEnd().split('\n')
  expect(lines.slice(0, 5)).toEqual([
    ...['TAP version 14', `# ${DIGEST}`, '1..2', `ok 1 - ${path}: iam × static_token`],
    `not ok 2 - ${path}: reports <& 'all' \\#1`,
  ])
  expect([lines[5], lines.at(-1)]).toEqual(['  ---', '  ...'])
  expect(parse(lines.slice(6, -1).join('\n'))).toMatchObject({
    at: `${path}:3:5`,
    failed: 2,
    questions: [
      {
        question: 'reports × iam_token_account_scoped, in both modes',
        said: expect.arrayContaining(['expected: allowed']),
      },
    ],
  })
})

test('a report in a file leaves the text for the terminal', async () => {
  const path = testsFile(FAILING)
  const output = join(path, '../report.xml')
  const { stdout } = await run(path, '--format', 'junit', '--output', output)
  expect(stdout).toContain('1 of 2 tests failed')
  expect(elementsOf(readFileSync(output, 'utf8')).some(({ name }) => name === 'failure')).toBe(true)
  const nowhere = await run(path, '--output', join(path, 'none'))
  expect(nowhere).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--output: .* cannot be written \(ENOTDIR\)/),
  })
})

test.each([
  ['text', 'a\\u{a}'],
  ['json', 'a\\n'],
  ['junit', 'a\\u{a}'],
  ['tap', 'a\\\\u{a}'],
])('names with invisible characters break no line of %s', async (format, shown) => {
  const name = JSON.stringify('a\n\u001b[31mb\u202ec\u0000 ]]> ---')
  const path = testsFile(`tests:\n  - { api: iam, kind: static_token, allowed: true, name: ${name} }\n`)
  const { code, stdout } = await run(path, '--format', format)
  expect(code).toBe(1)
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
  expect(stdout.split('\n').filter((line) => line.includes(shown))).toHaveLength(1)
  if (format === 'junit') expect(elementsOf(stdout).some(({ name }) => name === 'failure')).toBe(true)
})

test('reports of two forms are refused', async () => {
  expect((await run(testsFile(PASSING), '--json', '--format', 'tap')).code).toBe(2)
  expect((await run(testsFile(PASSING), '--format', 'xml')).code).toBe(2)
})
