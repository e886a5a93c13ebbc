/** `portcullis matrix query`: its texts, its exit codes and its errors. */
import { expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { command } from '../support/processes/command-line.ts'
import { newFile } from '../support/suite/resources.ts'

const query = (...args: string[]) => command(['matrix', 'query', ...args])
const many = newFile(
  JSON.stringify({
    ...{ ...supportMatrix, statements: [], conflicts: [] },
    apis: Array.from({ length: 1_500 }, (_, index) => ({
      ...{ id: `api-${index}`, title: `API ${index}`, section: '§1', accepts: ['static_token'] },
    })),
  }),
)

test.each<[args: string[], code: number, stdout: RegExp]>([
  [
    ['opens cdn'],
    0,
    /^iam_token_project_scoped {2}in X-Auth-Token {2}project-scoped IAM token\n1 kind of token\n$/,
  ],
  [['strict.opens cdn'], 1, /^0 kinds of token\n$/],
  [['opened only by static_token'], 0, /^reports {16}Reports\n[\s\S]*\n5 APIs\n$/],
  [
    ['contested'],
    0,
    /^cdn +iam_token_project_scoped +ALLOWED +strict: CONTESTED +cdn-project-omission\n[\s\S]*\n4 cells\n$/,
  ],
  [
    ['allowed', '--matrix', many],
    0,
    /\napi-999 +static_token +ALLOWED\nand 500 more; --json has all\n1500 cells\n$/,
  ],
])('%j', async (args, code, stdout) => {
  const ended = await query(...args)
  expect(ended).toMatchObject({ code, stderr: '' })
  expect(ended.stdout).toMatch(stdout)
})

test('--json has all', async () => {
  const { stdout } = await query('allowed', '--matrix', many, '--json')
  const answer = JSON.parse(stdout)
  expect(answer).toMatchObject({ about: 'cells', cells: { length: 1_500 } })
  expect(answer.cells[0]).toEqual({
    ...{ api: 'api-0', kind: 'static_token', contested: false, lenient: 'ALLOWED', strict: 'ALLOWED' },
    conflicts: [],
  })
  expect(JSON.parse((await query('opens iam', '--json')).stdout)).toEqual({
    about: 'kinds',
    kinds: ['iam_token_account_scoped'],
  })
})

test.each<[args: string[], says: RegExp]>([
  [['kind = static_tokn'], /^portcullis: the expression, column 8: .*did you mean `static_token`\?\n$/],
  [['allowed', '--strict'], /unknown option '--strict'/],
  [['allowed', '--matrix', 'none.json'], /none\.json cannot be read \(ENOENT\)/],
  [[''], /expression: expected a query/],
])('%j is refused', async (args, says) => {
  const ended = await query(...args)
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toMatch(says)
})
