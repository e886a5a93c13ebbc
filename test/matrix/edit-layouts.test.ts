/** Whatever white space and comments there are between items, an edit changes exactly its part. */
import fc from 'fast-check'
import { type ParseError, parse } from 'jsonc-parser'
import { expect, test } from 'vitest'
import * as yaml from 'yaml'
import { type DocumentChange, type Editor, editJson } from '../../matrix/document/edit.ts'
import { yamlEditor } from '../../matrix/document/edit-yaml.ts'

interface Form {
  readonly edit: Editor
  /** @throws Error if the text is not of this form */
  readonly read: (text: string) => unknown
  /** The texts that may stand between two signs. */
  readonly gaps: readonly string[]
}

const SPACES = ['', ' ', '\n  ', '\r\n', '\n\n    ']

const FORMS: Readonly<Record<string, Form>> = {
  JSON: {
    edit: editJson,
    read: (text) => {
      const errors: ParseError[] = []
      const value: unknown = parse(text, errors, { allowTrailingComma: true })
      expect([text, errors]).toEqual([text, []])
      return value
    },
    gaps: [
      ...SPACES,
      '/* a */',
      ' /* , */ ',
      ' // b\n',
      '\n  // ], /*\n  ',
      '/* c\n,\n*/',
      ' /* d\r\n */ // e\r\n',
    ],
  },
  YAML: {
    edit: yamlEditor(yaml),
    read: (text) => yaml.parse(text),
    gaps: [...SPACES, ' # b\n', '\n  # ], /*\n  ', ' # c, \r\n ', ' # */\n # d\n  '],
  },
}

/** A list or an object in brackets, with a gap before each sign and behind the first one. */
const laidOut = ({ gaps }: Form, isList: boolean) =>
  fc
    .record({
      count: fc.integer({ min: 0, max: 4 }),
      gaps: fc.array(fc.constantFrom(...gaps), { minLength: 16, maxLength: 16 }),
      endsWithComma: fc.boolean(),
    })
    .map(({ count, gaps: between, endsWithComma }) => {
      const [open, close] = isList ? '[]' : '{}'
      const items = Array.from({ length: count }, (_, index) =>
        isList ? `${index}` : `"k${index}": ${index}`,
      )
      const signs = items.flatMap((item, index) =>
        index + 1 < count || endsWithComma ? [item, ','] : [item],
      )
      return [open, ...signs, close].map((sign, index) => `${between[index]}${sign}`).join('')
    })

const CHANGES: readonly (readonly [change: DocumentChange, expected: (list: number[]) => unknown[]])[] = [
  [{ type: 'append', path: [], value: 9 }, (list) => [...list, 9]],
  ...[0, 1, 2, 3].flatMap((index): (readonly [DocumentChange, (list: number[]) => unknown[]])[] => [
    [{ type: 'remove', path: [index] }, (list) => list.toSpliced(index, 1)],
    [{ type: 'set', path: [index], value: 9 }, (list) => list.with(index, 9)],
  ]),
]

test.each(Object.entries(FORMS))('lists in %s', (_name, form) => {
  fc.assert(
    fc.property(laidOut(form, true), fc.constantFrom(...CHANGES), (text, [change, expected]) => {
      const list = form.read(text) as number[]
      const index = change.path[0]
      fc.pre(typeof index !== 'number' || index < list.length)
      expect(form.read(form.edit(text, change))).toEqual(expected(list))
    }),
    { numRuns: 500 },
  )
})

test.each(Object.entries(FORMS))('objects in %s', (_name, form) => {
  fc.assert(
    fc.property(
      laidOut(form, false),
      fc.constantFrom('k0', 'k1', 'k3', 'new'),
      fc.boolean(),
      (text, key, removes) => {
        const before = form.read(text) as Record<string, unknown>
        fc.pre(Object.keys(before).length > 0 && (!removes || key in before))
        const after = form.edit(
          text,
          removes ? { type: 'remove', path: [key] } : { type: 'set', path: [key], value: 9 },
        )
        const { [key]: _, ...others } = before
        expect(form.read(after)).toEqual(removes ? others : { ...others, [key]: 9 })
      },
    ),
    { numRuns: 500 },
  )
})
