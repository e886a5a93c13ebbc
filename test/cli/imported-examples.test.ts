/** The matrices of docs/use/imported-tables.md: each is made by its one command, and is the example. */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { compile, type Matrix } from '../../engine/index.ts'
import { lintFile, loadMatrix, supportMatrix } from '../../matrix/index.ts'
import { matrixForm, readMatrix } from '../../sidecar/rules/matrix-file/read.ts'
import { blocksOf, pageOf } from '../docs/page.ts'
import { command } from '../support/processes/command-line.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples/matrices')

/** The words of a command in a page, as a shell splits them. */
const wordsOf = (line: string): string[] =>
  Array.from(line.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '')

const imports = blocksOf(pageOf('docs/use/imported-tables.md')).flatMap(({ text }) =>
  text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.includes('matrix import'))
    .map((line) => ({
      name: /--matrix (\w+)\.yaml/.exec(line)?.[1] as string,
      words: wordsOf(line).slice(2),
    })),
)

test('every provider of the examples is in the page', () => {
  expect(imports.map(({ name }) => name)).toEqual([
    ...['gitlab', 'github', 'slack', 'twilio', 'stripe', 'cloudflare'],
  ])
})

/** A cell of each document that changes. */
const CHANGES: Readonly<Record<string, readonly [from: string, to: string, line: number, cell: string]>> = {
  gitlab: ['| OAuth 2.0 token | ✅', '| OAuth 2.0 token | ❌', 10, 'api × oauth_2_0_token'],
  github: ['| `GET /issues` | – | ✓', '| `GET /issues` | – | –', 17, 'get-issues × github_app_user_token'],
  slack: ['auth.test,✓', 'auth.test,-', 2, 'auth.test × bot_token'],
  twilio: ['Accounts</td><td>Yes', 'Accounts</td><td>No', 15, 'accounts × main_key'],
  stripe: ['| Payments | Yes', '| Payments | No', 9, 'payments × secret_key'],
  cloudflare: ['- user_service_key: []', '- api_token: []', 63, 'origin-certificates × user_service_key'],
}

describe.each(imports)('the table of $name', ({ name, words }) => {
  const folder = newFolder()
  const made = join(folder, `${name}.yaml`)
  const document = join(EXAMPLES, 'documents', basename(words[2] as string))
  const args = words.map((word) =>
    word === `${name}.yaml` || word.endsWith('-routes.yaml')
      ? join(folder, word)
      : word === words[2]
        ? document
        : word,
  )

  test('comes out of one command as the example, without a fault, and passes its policy tests', async () => {
    expect(await command(args)).toMatchObject({ code: 0, stderr: '' })
    const matrix = readMatrix(made)
    const example = readMatrix(join(EXAMPLES, `${name}.yaml`))
    // Only the way to the document differs.
    expect({ ...matrix, source: { ...matrix.source, document: '' } }).toEqual({
      ...example,
      source: { ...example.source, document: '' },
    })
    expect(example.source?.document).toBe(`documents/${basename(document)}`)
    expect(compile(matrix).digest).toBe(compile(example).digest)
    expect(lintFile(readFileSync(made), matrixForm(made)).problems).toEqual([])
    const tests = join(EXAMPLES, `${name}.policy-tests.yaml`)
    expect(await command(['matrix', 'test', tests, '--matrix', made])).toMatchObject({ code: 0, stderr: '' })
  })

  test('names the cell that its document changes', async () => {
    const [from, to, line, cell] = CHANGES[name] as (typeof CHANGES)[string]
    const changed = newFile(readFileSync(document, 'utf8').replace(from, to), basename(document))
    const words = ['matrix', 'source', changed, '--matrix', join(EXAMPLES, `${name}.yaml`)]
    const { code, stdout } = await command(words)
    expect({ code, found: stdout.split('\n')[1] }).toEqual({
      code: 1,
      found: `${changed}:${line}  cell-closed  ${cell}  the document says no, the matrix says yes`,
    })
  })

  test('says the same as its document, and comes out of its own export', async () => {
    const example = join(EXAMPLES, `${name}.yaml`)
    expect(await command(['matrix', 'source', '--matrix', example])).toMatchObject({ code: 0, stderr: '' })
    for (const [format, ending] of [
      ['markdown', 'md'],
      ['csv', 'csv'],
    ] as const) {
      const table = (await command(['matrix', 'export', '--matrix', example, '--format', format])).stdout
      // A copy without its source, which would say how the document is read.
      const { source: _, ...copy } = parse(readFileSync(example, 'utf8')) as Matrix
      const target = newFile(JSON.stringify(copy), 'matrix.json')
      const file = newFile(table, `table.${ending}`)
      expect(await command(['matrix', 'import', file, '--matrix', target, '--write'])).toMatchObject({
        code: 0,
        stderr: '',
      })
      expect(compile(readMatrix(target)).digest).toBe(compile(readMatrix(example)).digest)
    }
  })
})

test('the shipped matrix comes out of its own table unchanged, and a changed cell is named', async () => {
  const document = readFileSync(join(EXAMPLES, 'documents/support-matrix.md'), 'utf8')
  const shipped = readFileSync(join(import.meta.dirname, '../../matrix/support-matrix.json'), 'utf8')
  const target = newFile(shipped, 'matrix.json')
  const file = newFile(document, 'table.md')
  const named = [
    ...['--name', 'IAM token for the account=iam_token_account_scoped'],
    ...['--name', 'IAM token for a project=iam_token_project_scoped'],
  ]
  const ended = await command(['matrix', 'import', file, '--matrix', target, '--write', ...named])
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  const matrix = loadMatrix(readFileSync(target))
  expect(compile(matrix).digest).toBe(compile(supportMatrix).digest)
  expect(matrix.apis.flatMap(({ accepts }) => accepts)).toEqual(
    supportMatrix.apis.flatMap(({ accepts }) => accepts),
  )
  const lines = document.split('\n')
  const line = lines.findIndex((each) => each.startsWith('| Tickets |'))
  lines[line] = '| Tickets | – | ✓ | ✓ |'
  const changed = newFile(lines.join('\n'), 'table.md')
  const compared = await command(['matrix', 'source', changed, '--matrix', target, '--json'])
  expect(compared).toMatchObject({ code: 1, stderr: '' })
  expect(JSON.parse(compared.stdout).differences).toEqual([
    {
      ...{ code: 'cell-opened', line: line + 1, api: 'tickets', kind: 'iam_token_project_scoped' },
      text: 'the document says yes, the matrix says no',
    },
  ])
})
