/** Editing a matrix: the rest stays, the value is as expected, and flips are reported. */
import { describe, expect, test } from 'vitest'
import * as library from 'yaml'
import { stringify } from 'yaml'
import type { Api, Statement, TokenKind } from '../../engine/index.ts'
import { type Editor, editJson } from '../../matrix/document/edit.ts'
import { yamlEditor } from '../../matrix/document/edit-yaml.ts'
import { jsonc } from '../../matrix/document/index.ts'
import { editText } from '../../matrix/edit-file.ts'
import type { MatrixEdit, Resolution } from '../../matrix/edits.ts'
import { type DocumentForm, loadMatrix, MatrixError, type Mode, supportMatrix } from '../../matrix/index.ts'
import { yaml } from '../../matrix/yaml.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

const editYaml = yamlEditor(library)
const COMMENTED = JSON.stringify(smallMatrix(), undefined, 2).replaceAll(/,\n/g, ', // kept\n')
const FORMS: readonly (readonly [name: string, form: DocumentForm, editor: Editor, text: string])[] = [
  ['JSON with comments', jsonc, editJson, COMMENTED],
  ['YAML', yaml, editYaml, stringify(smallMatrix()).replaceAll(/(?<=[a-z])\n/g, ' # kept\n')],
  [
    'YAML with lists in lines',
    yaml,
    editYaml,
    stringify(smallMatrix(), { collectionStyle: 'flow', lineWidth: 60 }),
  ],
]
const TABLE: Resolution = { resolution: 'table', reason: 'the row is newer: "yes"' }

describe.each(FORMS)('a matrix in %s', (_name, form, editor, text) => {
  const edited = (edit: MatrixEdit, resolution?: Resolution) =>
    editText(text, { form, editor }, edit, resolution)
  const cells = (edit: MatrixEdit, resolution?: Resolution) => {
    const { comparison, open, declared, removed } = edited(edit, resolution)
    const of = (mode: Mode) =>
      comparison.flips
        .filter(({ modes }) => modes.includes(mode))
        .map(({ direction, api, kind }) => `${direction} ${api} ${kind}`)
    return {
      ...{ lenient: of('lenient'), strict: of('strict') },
      ...{ open: open.length, declared: declared.length, removed },
    }
  }

  test('is read before and after, and comments stay', () => {
    const { text: after, matrix, open } = edited({ type: 'rename', part: 'apis', id: 'lobby', to: 'hall' })
    expect(open).toEqual([])
    expect(loadMatrix(after, form)).toEqual(matrix)
    const renamed = JSON.stringify(loadMatrix(text, form)).replaceAll(/"lobby"/g, '"hall"')
    expect(JSON.stringify(matrix)).toBe(renamed)
    // Line by line, all but the id is the same.
    const unnamed = (each: string) =>
      each.replaceAll(/\bhall\b|\blobby\b/g, 'x').replaceAll(/["']x["']/g, 'x')
    expect(unnamed(after)).toBe(unnamed(text))
  })

  test('an API more opens its cells, and every line from before is there', () => {
    const row = { id: 'attic', title: 'Attic', accepts: ['room_key'], section: 'a: b' }
    const result = edited({ type: 'add', part: 'apis', row }, TABLE)
    expect(result.matrix.apis.at(-1)).toEqual(row)
    expect(result.comparison.flips).toMatchObject([{ direction: 'opened', api: 'attic', kind: 'room_key' }])
    const lines = new Set(result.text.split(/\n/).map((line) => line.replace(/,(?=$| \/\/)/, '').trim()))
    const lost = text.split('\n').filter((line) => !lines.has(line.replace(/,(?=$| \/\/)/, '').trim()))
    // A list in one line is one line.
    expect(lost.length).toBeLessThanOrEqual(form.id === 'yaml' && text.startsWith('{') ? 2 : 0)
  })

  test('a cell that contradicts the prose leaves a conflict open, unless it is resolved', () => {
    const accept: MatrixEdit = { type: 'accept', api: 'library', kind: 'room_key' }
    const open = cells(accept)
    expect(open.open + open.declared).toBe(open.open)
    const resolved = cells(accept, TABLE)
    expect(resolved).toMatchObject({ lenient: ['opened library room_key'], open: 0, declared: open.open })
    expect(resolved.strict).toEqual(open.open > 0 ? [] : ['opened library room_key'])
  })

  test('a conflict that ends is removed, and a cell that is closed is said', () => {
    expect(cells({ type: 'reject', api: 'lobby', kind: 'room_key' }, TABLE)).toMatchObject({
      lenient: ['closed lobby room_key'],
      removed: [smallMatrix().conflicts[1]?.id],
      open: 0,
    })
  })

  test('an edit without a difference changes nothing', () => {
    expect(edited({ type: 'accept', api: 'lobby', kind: 'day_pass' }).text).toBe(text)
  })

  test('the other side of a conflict', () => {
    const resolve: MatrixEdit = {
      type: 'resolve',
      conflict: 'lobby-key-contradiction',
      resolution: 'prose',
      reason: 'x',
    }
    expect(cells(resolve)).toMatchObject({ lenient: ['closed lobby room_key'], strict: [] })
  })

  test.each<[edit: MatrixEdit, gone: string, statements: readonly string[]]>([
    [{ type: 'remove', part: 'apis', id: 'lobby' }, 'lobby', ['lobby-repeated']],
    [{ type: 'remove', part: 'apis', id: 'cellar' }, 'cellar', ['key-only-option']],
    [
      { type: 'remove', part: 'tokenKinds', id: 'room_key' },
      'room_key',
      ['key-manages-not', 'key-only-option', 'key-bound-to', 'key-remark'],
    ],
    [{ type: 'remove', part: 'statements', id: 'key-manages-not' }, 'key-manages-not', ['key-manages-not']],
  ])('without a row nothing names it any more: %j', (edit, gone, statements) => {
    const { matrix, text: after, open } = edited(edit, TABLE)
    expect(JSON.stringify(matrix)).not.toContain(`"${gone}"`)
    expect(loadMatrix(after, form)).toEqual(matrix)
    const before = smallMatrix().statements.map(({ id }) => id)
    expect(before.filter((id) => !matrix.statements.some((each) => each.id === id))).toEqual(statements)
    expect([open, after.split('\n').length <= text.split('\n').length]).toEqual([[], true])
  })

  test.each(['apis', 'tokenKinds', 'statements'] as const)(
    'every row of %s is renamed everywhere',
    (part) => {
      for (const { id } of smallMatrix()[part]) {
        const { matrix } = edited({ type: 'rename', part, id, to: 'other' })
        const renamed = JSON.stringify(loadMatrix(text, form)).replaceAll(`"${id}"`, '"other"')
        expect(JSON.stringify(matrix)).toBe(renamed)
      }
    },
  )

  test('the fields of a row are as given, and absent ones are not there', () => {
    const kinds = smallMatrix().tokenKinds
    const row = { ...kinds[0], scheme: 'Pass', lifetimeSeconds: null } as TokenKind
    const { text: with_, matrix } = edited({ type: 'change', part: 'tokenKinds', row })
    expect(matrix.tokenKinds).toEqual([row, kinds[1]])
    const back = { ...row, lifetimeSeconds: 60, obtained: { by: 'issue', steps: ['Ask: "when?"'] } } as const
    const { scheme: _, ...without } = back
    const again = editText(with_, { form, editor }, { type: 'change', part: 'tokenKinds', row: without })
    expect(again.matrix.tokenKinds).toEqual([without, kinds[1]])
    expect(edited({ type: 'change', part: 'tokenKinds', row: kinds[0] as TokenKind }).text).toBe(text)
  })

  test('a claim that is another one, and the title', () => {
    const row = {
      ...smallMatrix().statements[0],
      claim: { type: 'does_not_manage', kind: 'day_pass', apis: ['cellar'] },
    } as Statement
    const { matrix, text: after } = edited({ type: 'change', part: 'statements', row })
    expect(matrix.statements[0]).toEqual(row)
    expect(loadMatrix(after, form)).toEqual(matrix)
    const titled = edited({ type: 'title', title: 'Doors: "all"' })
    expect(titled.matrix).toEqual({ ...smallMatrix(), title: 'Doors: "all"' })
    expect(edited({ type: 'title', title: smallMatrix().title }).text).toBe(text)
  })

  test('a result that is not valid is refused', () => {
    expect(() => edited({ type: 'rename', part: 'statements', id: 'pass-most', to: 'Most' })).toThrow(
      MatrixError,
    )
    const row = { id: 'lobby', title: '', accepts: ['nothing'], section: 'x' }
    expect(() => edited({ type: 'add', part: 'apis', row })).toThrow(MatrixError)
    expect(() => edited({ type: 'rename', part: 'apis', id: 'lobby', to: 'cellar' })).toThrow(
      /`cellar` is taken/,
    )
  })
})

test('cells of the shipped matrix can be exchanged and exchanged back, in JSON and in YAML', () => {
  const kind = 'static_token'
  const shipped = JSON.stringify(supportMatrix, undefined, 2)
  for (const [form, editor, text] of [
    [jsonc, editJson, shipped],
    [yaml, editYaml, stringify(supportMatrix)],
  ] as const)
    for (const [first, second] of [
      ['reject', 'accept'],
      ['accept', 'reject'],
    ] as const) {
      const isAccepted = first === 'reject'
      const { id } = supportMatrix.apis.find((api) => api.accepts.includes(kind) === isAccepted) as Api
      const there = editText(text, { form, editor }, { type: first, api: id, kind }, TABLE)
      expect(there.comparison.flips).toContainEqual(
        expect.objectContaining({ direction: isAccepted ? 'closed' : 'opened', api: id }),
      )
      const back = editText(there.text, { form, editor }, { type: second, api: id, kind }, TABLE)
      expect(loadMatrix(back.text, form).apis.map((api) => [api.id, [...api.accepts].sort()])).toEqual(
        supportMatrix.apis.map((api) => [api.id, [...api.accepts].sort()]),
      )
    }
})

describe('a matrix whose conflicts are not as they must be', () => {
  const tools = { form: yaml, editor: editYaml }
  const titled: MatrixEdit = { type: 'title', title: 'Other doors' }
  const written = (change: (matrix: ReturnType<typeof smallMatrix>) => void) => {
    const matrix = smallMatrix()
    change(matrix)
    return stringify(matrix)
  }
  const repeated = (index: number): [Api, Statement] => [
    { id: `door-${index}`, title: 'x', accepts: ['day_pass'], section: '§2' },
    {
      ...(smallMatrix().statements[0] as Statement),
      id: `door-${index}-repeated`,
      claim: { type: 'row_repeated', api: `door-${index}`, accepts: ['day_pass'] },
    },
  ]

  test('is refused, with the place of what is wrong', () => {
    const text = written(({ conflicts: [first] }) => {
      if (first !== undefined) first.statements = ['key-remark']
    })
    expect(() => editText(text, tools, titled)).toThrow(
      expect.objectContaining({
        problems: [expect.objectContaining({ code: 'wrong-statements', line: expect.any(Number) })],
      }),
    )
  })

  test('is edited where only declarations are missing, however many', () => {
    const text = written((matrix) => {
      for (let index = 0; index < 120; index++) {
        const [api, statement] = repeated(index)
        matrix.apis.push(api as never)
        matrix.statements.push(statement as never)
      }
    })
    // Those of before are not what the edit causes.
    const { open, declared, matrix } = editText(text, tools, titled, TABLE)
    expect([open.length, declared, matrix.title]).toEqual([120 + 120, [], 'Other doors'])
    const accept: MatrixEdit = { type: 'accept', api: 'library', kind: 'room_key' }
    const more = editText(text, tools, accept, TABLE)
    expect(more.declared.map(({ cells }) => cells)).toEqual([[{ api: 'library', kind: 'room_key' }]])
    expect(more.open).toHaveLength(open.length)
  })
})
