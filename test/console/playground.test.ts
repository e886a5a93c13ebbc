/** Editing in the page: what each step makes of the text, what is refused, and the way back. */
import { expect, test } from 'vitest'
import { CLAIM_TYPES, claimOf, draftOf } from '../../console/model/claim.ts'
import { editedRows } from '../../console/model/edited-table.ts'
import {
  begun,
  begunWithin,
  current,
  edited,
  idFrom,
  isReplayable,
  type Playground,
  REPLAYED_BYTES_MAX,
  replayed,
  type Source,
  testsName,
  undone,
} from '../../console/model/playground.ts'
import { fileCommands } from '../../console/model/playground-commands.ts'
import { finish } from '../../engine/index.ts'
import { compareMatrices } from '../../matrix/compare.ts'
import { editJson } from '../../matrix/document/edit.ts'
import type { MatrixEdit } from '../../matrix/edits.ts'
import { jsonc, loadMatrix, MatrixError, supportMatrix } from '../../matrix/index.ts'
import { matrixText, newMatrixText } from '../../matrix/new-matrix.ts'
import { yaml } from '../../matrix/yaml.ts'
import { editYaml } from '../../matrix/yaml-editor.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

const JSON_TOOLS = { form: jsonc, editor: editJson }
const source = (text: string, name = 'house.jsonc'): Source => ({ from: 'file', name, text })
const small = () => begun(source(matrixText(smallMatrix())), JSON_TOOLS)

/** The playground after some steps, each of which must be made. */
function after(playground: Playground, ...steps: readonly MatrixEdit[][]): Playground {
  return steps.reduce((before, step) => {
    const outcome = edited(before, step)
    if (outcome.type !== 'edited') throw new Error(JSON.stringify(outcome))
    return outcome.playground
  }, playground)
}

const accept: MatrixEdit = { type: 'accept', api: 'library', kind: 'room_key' }
const reject: MatrixEdit = { type: 'reject', api: 'lobby', kind: 'day_pass' }
const resolve: MatrixEdit = {
  ...{ type: 'resolve', conflict: 'library-room_key-contradiction', resolution: 'prose', reason: 'why' },
}

test('the matrix of the page is a text that says the same, and a row is a line', () => {
  const text = matrixText(supportMatrix)
  expect(loadMatrix(text)).toEqual(supportMatrix)
  expect(text.split('\n').filter((line) => /^ {4}\{ "id": "\w/.test(line)).length).toBeGreaterThan(20)
  const bare = { ...smallMatrix(), statements: [], conflicts: [] }
  expect(JSON.parse(matrixText(bare))).toEqual({
    title: bare.title,
    tokenKinds: bare.tokenKinds,
    apis: bare.apis,
  })
})

test('an edit that contradicts the prose is made, and stays to be resolved', () => {
  const contradicting = after(small(), [accept])
  expect(compareMatrices(smallMatrix(), current(contradicting).matrix).flips).toMatchObject([
    { direction: 'opened', api: 'library', kind: 'room_key', modes: ['lenient', 'strict'] },
  ])
  expect(current(contradicting).open.map(({ id, statements }) => [id, statements])).toEqual([
    ['library-room_key-contradiction', ['key-manages-not']],
  ])
  const resolved = after(contradicting, [resolve])
  expect(current(resolved).open).toEqual([])
  expect(loadMatrix(current(resolved).text, jsonc).conflicts.at(-1)).toMatchObject({
    ...{ cells: [{ api: 'library', kind: 'room_key' }], resolution: 'prose', reason: 'why' },
  })
})

test('a step of several edits is undone as a whole, and at the beginning nothing is undone', () => {
  const begin = small()
  const renamed: MatrixEdit = { type: 'rename', part: 'apis', id: 'lobby', to: 'hall' }
  const row = { id: 'hall', title: 'Hall', accepts: ['day_pass', 'room_key'], section: '§2' }
  const stepped = after(begin, [renamed, { type: 'change', part: 'apis', row }])
  expect(current(stepped).matrix.apis[0]).toEqual(row)
  expect(undone(stepped)).toEqual(begin)
  expect(undone(begin)).toEqual(begin)
  const two = after(begin, [accept], [resolve])
  expect(current(undone(two))).toEqual(current(after(begin, [accept])))
})

test.each<[what: string, edit: MatrixEdit, problem: object]>([
  [
    'an id that is taken',
    { type: 'rename', part: 'apis', id: 'lobby', to: 'cellar' },
    { code: 'id-taken', path: expect.stringMatching(/^apis\[\d\]\.id$/) },
  ],
  [
    'an id that is none',
    { type: 'rename', part: 'statements', id: 'pass-most', to: 'Most of all' },
    { code: 'malformed', path: 'statements[3].id' },
  ],
  ['no title', { type: 'title', title: '' }, { code: 'malformed', path: 'title' }],
  [
    'a claim about an API that is none',
    {
      type: 'change',
      part: 'statements',
      row: {
        id: 'pass-most',
        section: '§3',
        text: 'x',
        claim: { type: 'does_not_manage', kind: 'day_pass', apis: ['moat'] },
      },
    },
    { code: 'id-unknown', path: 'statements[3].claim.apis[0]' },
  ],
])('%s is refused with its code, and everything is as before', (_what, edit, problem) => {
  const begin = small()
  const before = JSON.stringify(begin)
  expect(edited(begin, [accept, edit])).toMatchObject({ type: 'refused', problems: [problem] })
  expect(JSON.stringify(begin)).toBe(before)
})

test('an edit that changes nothing is not a step', () => {
  expect(edited(small(), [{ type: 'accept', api: 'lobby', kind: 'day_pass' }])).toEqual({ type: 'unchanged' })
})

test('warnings of the linter have their code, and their line in the text', () => {
  const unopened = after(small(), [{ type: 'reject', api: 'library', kind: 'day_pass' }])
  expect(current(unopened).findings).toContainEqual(
    expect.objectContaining({ code: 'unopened-api', severity: 'warning', line: expect.any(Number) }),
  )
})

test.each<[what: string, text: string, problem: RegExp]>([
  ['no JSON', '{\n  "title": "x",,\n}', /expected JSON; .* at line 2, column 16/],
  ['a wrong field', '{\n  "title": "x",\n  "tokenKinds": 1\n}', /3:3: tokenKinds: expected an array/],
  ['a declaration of nothing', matrixText({ ...smallMatrix(), statements: [] }), /conflicts\[0\]/],
])('a file with %s is refused with the place', (_what, text, problem) => {
  const opened = () => begun(source(text), JSON_TOOLS)
  expect(opened).toThrow(MatrixError)
  expect(opened).toThrow(problem)
})

test('the page edits up to 2,000 APIs, in 512 KiB of JSON or 64 KiB of YAML', () => {
  const apis = Array.from({ length: 2_001 }, (_, at) => ({ ...smallMatrix().apis[0], id: `a${at}` }))
  const withApis = (count: number) =>
    source(
      matrixText({ ...smallMatrix(), apis: apis.slice(0, count) as never, statements: [], conflicts: [] }),
    )
  expect(begunWithin(withApis(2_000), JSON_TOOLS)?.steps).toEqual([])
  expect(begunWithin(withApis(2_001), JSON_TOOLS)).toBeUndefined()
  const yamlTools = { form: yaml, editor: editYaml }
  const text = newMatrixText(
    { title: 'é', kind: 'k', header: 'X', apis: [{ id: 'a', title: 'A' }] },
    'yaml',
    '',
  )
  for (const [before, tools, bytesMax] of [
    [matrixText(smallMatrix()), JSON_TOOLS, 512 * 1024],
    [text, yamlTools, 64 * 1024],
  ] as const) {
    const room = bytesMax - Buffer.byteLength(before)
    expect(begunWithin(source(before + '\n'.repeat(room)), tools)?.steps).toEqual([])
    expect(begunWithin(source(before + '\n'.repeat(room + 1)), tools)).toBeUndefined()
  }
})

test('a file that leaves contradictions open is opened, and they are there to be resolved', () => {
  const open = begun(source(matrixText({ ...smallMatrix(), conflicts: [] })), JSON_TOOLS)
  expect(current(open).open.map(({ type }) => type)).toEqual(['contradiction', 'duplicate_row'])
})

test('comments and layout of a file stay, in JSON with comments and in YAML', () => {
  const made = { title: 'x: "y"', kind: 'pass', header: 'X-Pass', apis: [{ id: 'one', title: 'One' }] }
  for (const [form, tools] of [
    ['jsonc', JSON_TOOLS],
    ['yaml', { form: yaml, editor: editYaml }],
  ] as const) {
    const text = newMatrixText(made, form, undefined)
    const playground = after(begun(source(text), tools), [
      { type: 'add', part: 'apis', row: { id: 'two', title: 'Two', accepts: [], section: '§1' } },
      { type: 'reject', api: 'one', kind: 'pass' },
    ])
    const lines = new Set(
      current(playground)
        .text.split('\n')
        .map((line) => line.replace(/,$/, '')),
    )
    const lost = text.split('\n').filter((line) => !lines.has(line.replace(/,$/, '')))
    expect(lost).toEqual([expect.stringContaining('accepts')])
    expect(loadMatrix(current(playground).text, tools.form)).toEqual(current(playground).matrix)
  }
})

test('the steps of a link are made until one is refused', () => {
  const steps = [[accept], [resolve]]
  expect(finish(replayed(small(), steps))).toEqual({
    playground: after(small(), [accept], [resolve]),
    refused: [],
  })
  const broken: MatrixEdit = { type: 'rename', part: 'apis', id: 'lobby', to: 'cellar' }
  const { playground, refused } = finish(replayed(small(), [[accept], [broken], [resolve]]))
  expect([playground.steps, refused[0]?.code]).toEqual([[[accept]], 'id-taken'])
})

test('cells show what has changed, and what contradicts', () => {
  const begin = small()
  const { states } = after(begin, [accept, reject, { type: 'remove', part: 'apis', id: 'cellar' }])
  const rows = editedRows(states[1] as never, begin.states[0].matrix)
  expect(
    rows.map(({ api, isNew, cells }) => [
      ...[api.id, isNew],
      ...cells.map(({ accepted, changed, conflict }) => [accepted, changed, conflict]),
    ]),
  ).toEqual([
    ['lobby', false, [false, true, 'open'], [true, false, 'resolved']],
    ['library', false, [true, false, undefined], [true, true, 'open']],
  ])
  expect(editedRows(begin.states[0], { ...smallMatrix(), apis: [] })[0]?.isNew).toBe(true)
})

test('every claim goes through its form, and has the fields of its type alone', () => {
  const claims = smallMatrix().statements.map(({ claim }) => claim)
  expect(claims.map(({ type }) => type).toSorted()).toEqual(CLAIM_TYPES.toSorted())
  for (const claim of claims) expect(claimOf(draftOf(smallMatrix(), claim))).toEqual(claim)
  // Whatever was chosen before: the new claim is valid as soon as it has APIs.
  const draft = {
    ...draftOf(smallMatrix(), claims[5]),
    type: 'only_option',
    kind: 'room_key',
    apis: ['cellar'],
  } as const
  expect(claimOf(draft)).toEqual({ type: 'only_option', kind: 'room_key', apis: ['cellar'] })
})

test.each<[title: string, id: string]>([
  ['Loans and returns', 'loans-and-returns'],
  ['  3D printers (new)!', 'd-printers-new'],
  ['Café', 'cafe'],
  ['Каталог', ''],
  ['x'.repeat(140), 'x'.repeat(128)],
  [`${'x'.repeat(127)} y`, 'x'.repeat(127)],
])('the title `%s` suggests an id', (title, id) => {
  expect(idFrom(title, '-')).toBe(id)
})

test('downloaded files have names that go together, and the commands name them', () => {
  for (const [file, tests] of [
    ['library.jsonc', 'library.policy-tests.yaml'],
    ['library.yaml', 'library.policy-tests.yaml'],
    ['Matrix.JSON', 'Matrix.policy-tests.yaml'],
    ['matrix', 'matrix.policy-tests.yaml'],
  ] as const)
    expect(testsName(file)).toBe(tests)
  expect(fileCommands("our 'own'.yaml")).toEqual([
    `npx --no-install portcullis matrix lint 'our '\\''own'\\''.yaml'`,
    `npx --no-install portcullis matrix test 'our '\\''own'\\''.policy-tests.yaml' --matrix 'our '\\''own'\\''.yaml'`,
    `npx --no-install portcullis serve --matrix 'our '\\''own'\\''.yaml'`,
  ])
  // A shell removes the quotes, so that they keep no name from being an option.
  expect(fileCommands('--help.json')).toEqual([
    `npx --no-install portcullis matrix lint './--help.json'`,
    `npx --no-install portcullis matrix test './--help.policy-tests.yaml' --matrix './--help.json'`,
    `npx --no-install portcullis serve --matrix './--help.json'`,
  ])
})

test('the edits of a link read a bounded amount of text, however short the link is', () => {
  const text = matrixText(smallMatrix()) + ' '.repeat(400_000)
  const titles = Array.from({ length: 1_000 }, (_, index): MatrixEdit[] => [
    { type: 'title', title: `title ${index % 2}` },
  ])
  const { playground, refused } = finish(replayed(begun(source(text), JSON_TOOLS), titles))
  expect(refused).toEqual([
    { path: '', expected: expect.stringMatching(/^expected edits of a link that read/) },
  ])
  // Titles of one length, so that each step reads the same.
  expect(playground.steps.length).toBe(Math.floor(REPLAYED_BYTES_MAX / current(playground).text.length))
  expect(isReplayable(playground)).toBe(true)
  expect(isReplayable(after(playground, [{ type: 'title', title: 'title x' }]))).toBe(false)
})
