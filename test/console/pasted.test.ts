/** A pasted table: it is read and merged as on the command line, or it is said why not. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { EMPTY_PASTE, PASTED_LENGTH_MAX, type PasteDraft, readPasted } from '../../console/model/pasted.ts'
import { begun, current, edited, isReplayable } from '../../console/model/playground.ts'
import type { Matrix } from '../../engine/index.ts'
import { editJson } from '../../matrix/document/edit.ts'
import { jsonc } from '../../matrix/index.ts'
import { matrixText } from '../../matrix/new-matrix.ts'
import { readMatrix } from '../../sidecar/rules/matrix-file/read.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'
import { command } from '../support/processes/command-line.ts'
import { newFile } from '../support/suite/resources.ts'

const read = (draft: Partial<PasteDraft>, into?: Matrix) =>
  readPasted({ ...EMPTY_PASTE, ...draft }, into, 'Ours')

/** @throws Error where it is not read */
async function merged(draft: Partial<PasteDraft>, into?: Matrix): Promise<Matrix> {
  const pasted = await read(draft, into)
  if (pasted.type !== 'read') throw new Error(JSON.stringify(pasted))
  return pasted.merged.matrix
}

const DOORS = '| API | day pass | New key |\n|---|---|---|\n| Lobby | – | ✓ |\n| Roof | ✓ | – |\n'

test.each([
  ['md', DOORS],
  ['html', '<table><tr><th>API<th>day pass<th>New key<tr><td>Lobby<td>–<td>✓<tr><td>Roof<td>✓<td>–</table>'],
  ['csv', 'API;day pass;New key\nLobby;–;✓\nRoof;✓;–\n'],
  ['tsv', 'API\tday pass\tNew key\nLobby\t–\t✓\nRoof\t✓\t–\n'],
])('in the form %s is merged as `matrix import` does', async (ending, text) => {
  const name = `doors.${ending}`
  const pasted = await merged({ text, name }, smallMatrix())
  const target = newFile(matrixText(smallMatrix()), 'matrix.json')
  const args = ['--matrix', target, '--write', '--resolve', 'table', '--reason', 'the table is newer']
  expect(await command(['matrix', 'import', newFile(text, name), ...args])).toMatchObject({ code: 0 })
  const { source, ...imported } = readMatrix(target)
  const written = (matrix: Matrix) => JSON.parse(JSON.stringify({ ...matrix, source: null, conflicts: null }))
  expect(written(pasted)).toEqual(written(imported))
  expect(pasted.source).toEqual({ ...source, document: name })
  // The name that it has otherwise is one by which the command line reads it.
  expect((await merged({ text })).source?.document).toBe(`pasted.${ending}`)
})

describe('a refusal is one sentence, with its line where there is one', () => {
  test.each<[what: string, draft: Partial<PasteDraft>, line: number | undefined, expected: RegExp]>([
    ['no table', { text: '# Tokens\n', format: 'markdown' }, undefined, /expected a table, found none/],
    ['a table without marks', { text: 'a,b\nc,d\n' }, 1, /expected a table with marks/],
    ['a cell without an end', { text: 'a,b\n"c,x\n' }, 2, /expected a quotation mark/],
    ['another table', { text: DOORS, table: '2' }, 1, /expected one table 2/],
    ['too much', { text: 'x'.repeat(PASTED_LENGTH_MAX + 1) }, undefined, /expected at most 2097152 char/],
    [
      'too many APIs',
      { text: `API,key\n${Array.from({ length: 2_001 }, (_, at) => `a${at},x\n`).join('')}` },
      1,
      /expected at most 2000 APIs/,
    ],
  ])('%s', async (_what, draft, line, expected) => {
    expect(await read(draft)).toEqual({ type: 'refused', line, expected: expect.stringMatching(expected) })
  })
})

test('an unknown mark is asked for with its lines, and an answer makes it known', async () => {
  const text = 'API,key\nLoans,Limited\nFines,x\n'
  expect(await read({ text })).toMatchObject({
    type: 'asks',
    unknown: [{ mark: 'Limited', count: 1, lines: [2] }],
  })
  const { apis, source } = await merged({ text, marks: { Limited: 'note' } })
  expect(apis[0]).toMatchObject({ accepts: ['key'], notes: { key: 'Limited' } })
  expect(source?.marks).toEqual({ Limited: 'note' })
  // The matrix remembers the answer.
  expect(await read({ text }, await merged({ text, marks: { Limited: 'no' } }))).toMatchObject({
    type: 'read',
  })
})

test('the choices of a person say how the table is read', async () => {
  const text = `${DOORS}\n# Other\n\n| Key | Loans | Fines |\n|---|---|---|\n| Old key | ✓ | ✓ |\n| Free | ✓ | – |\n`
  const draft = { text, table: 'Other', kinds: 'rows', public: 'free', leaveOut: 'Fines\n' } as const
  const { apis, tokenKinds } = await merged(draft)
  expect(tokenKinds.map(({ id }) => id)).toEqual(['old_key'])
  expect(apis).toMatchObject([{ id: 'loans', public: true, line: 8 }])
})

test('it is one step of the edited text, which keeps its comments, and a large one is written anew', async () => {
  const tools = { form: jsonc, editor: editJson }
  const text = `// ours\n${matrixText(smallMatrix())}`
  const begin = begun({ from: 'file', name: 'house.jsonc', text }, tools)
  const step = async (table: string) => {
    const matrix = await merged({ text: table }, current(begin).matrix)
    const outcome = edited(begin, [{ type: 'document', matrix }])
    if (outcome.type !== 'edited') throw new Error(JSON.stringify(outcome))
    return outcome.playground
  }
  const small = await step(DOORS)
  expect(current(small).text).toMatch(/^\/\/ ours/)
  expect(current(small).matrix.source?.document).toBe('pasted.md')
  expect(current(small).open.length).toBeGreaterThan(0)
  expect(isReplayable(small)).toBe(true)
  const large = await step(`API,key\n${Array.from({ length: 300 }, (_, at) => `a${at},x\n`).join('')}`)
  expect(current(large).matrix.apis).toHaveLength(303)
  const again = await merged({ text: DOORS }, current(small).matrix)
  expect(edited(small, [{ type: 'document', matrix: again }]).type).toBe('unchanged')
})

test('each document of the examples is read with the answers that its matrix remembers', async () => {
  for (const [name, document] of [
    ['gitlab', 'gitlab.md'],
    ['slack', 'slack.csv'],
    ['twilio', 'twilio.html'],
  ] as const) {
    const folder = join(ROOT, 'examples/matrices')
    const matrix = readMatrix(join(folder, `${name}.yaml`))
    const text = readFileSync(join(folder, 'documents', document), 'utf8')
    const { source: _, ...pasted } = await merged({ text }, matrix)
    const { source: __, ...before } = matrix
    expect(JSON.parse(JSON.stringify(pasted))).toEqual(JSON.parse(JSON.stringify(before)))
  }
})
