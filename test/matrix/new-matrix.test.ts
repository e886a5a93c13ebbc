/** The texts of matrices that are in no file yet, whole. */
import { expect, test } from 'vitest'
import { loadMatrix } from '../../matrix/index.ts'
import { kindRow, matrixText, type NewMatrix, newMatrixText } from '../../matrix/new-matrix.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

const MADE: NewMatrix = {
  ...{ title: 'Doors: "all"', kind: 'day_pass', header: 'X-Pass' },
  apis: [
    { id: 'lobby', title: 'Lobby' },
    { id: 'cellar', title: 'Wine: cellar' },
  ],
}

const JSON_TEXT = `{
  "title": "Doors: \\"all\\"",
  "tokenKinds": [
    {
      "id": "day_pass",
      "title": "day_pass",
      "family": "day_pass",
      "scopeLevel": "account",
      "header": "X-Pass",
      "issuedTo": "user",
      "obtained": { "by": "issue" },
      "permissionScopes": [],
      "lifetimeSeconds": null,
      "section": "not stated"
    }
  ],
  "apis": [
    { "id": "lobby", "title": "Lobby", "accepts": ["day_pass"], "section": "not stated" },
    { "id": "cellar", "title": "Wine: cellar", "accepts": ["day_pass"], "section": "not stated" }
  ]
}
`
const KINDS = 'Kinds of token: the header that carries each, what it is bound to, and who holds it.'
const APIS = 'A row for each API, with the kinds that open it.'
const YAML_TEXT = `title: "Doors: \\"all\\""
# ${KINDS}
tokenKinds:
  - id: day_pass
    title: day_pass
    family: day_pass
    scopeLevel: account
    header: "X-Pass"
    issuedTo: user
    obtained: { by: issue }
    permissionScopes: []
    lifetimeSeconds: null
    section: "not stated"
# ${APIS}
apis:
  - id: lobby
    title: "Lobby"
    accepts: [day_pass]
    section: "not stated"
  - id: cellar
    title: "Wine: cellar"
    accepts: [day_pass]
    section: "not stated"
`

test('a new matrix is written in each form, with its schema where one is given', () => {
  expect(newMatrixText(MADE, 'json', undefined)).toBe(JSON_TEXT)
  const noted = JSON_TEXT.replace('  "tokenKinds"', `  // ${KINDS}\n$&`).replace(
    '  "apis"',
    `  // ${APIS}\n$&`,
  )
  expect(newMatrixText(MADE, 'jsonc', undefined)).toBe(noted)
  expect(newMatrixText(MADE, 'json', 'a.json')).toBe(JSON_TEXT.replace('{', '{\n  "$schema": "a.json",'))
  expect(newMatrixText(MADE, 'yaml', undefined)).toBe(YAML_TEXT)
  expect(newMatrixText(MADE, 'yaml', 'a.json')).toBe(`# yaml-language-server: $schema=a.json\n${YAML_TEXT}`)
})

test('the row of a kind has exactly the known facts', () => {
  const text = newMatrixText(
    { ...MADE, kindTitle: 'day pass', scheme: 'Bearer', prefix: 'p_' },
    'json',
    undefined,
  )
  expect(loadMatrix(text).tokenKinds[0]).toMatchObject({ title: 'day pass', scheme: 'Bearer', prefix: 'p_' })
  expect(Object.keys(kindRow('badge', { header: 'X-Badge' }))).not.toContain('scheme')
  const given = { title: 'a', family: 'b', scopeLevel: 'project', issuedTo: 'c', section: 'd' } as const
  expect(kindRow('badge', { ...given, header: 'X-Badge', obtainedBy: 'control_panel' })).toStrictEqual({
    ...{ id: 'badge', ...given, header: 'X-Badge', obtained: { by: 'control_panel' } },
    ...{ permissionScopes: [], lifetimeSeconds: null },
  })
})

test('a matrix that a program has is written with a row a line, and without lists that are empty', () => {
  const { tokenKinds, statements, conflicts, ...rest } = smallMatrix()
  expect(loadMatrix(matrixText(smallMatrix()))).toEqual(smallMatrix())
  const kinds = [{ id: 'a', title: 'a' }] as unknown as typeof tokenKinds
  expect(
    matrixText({ title: 'x "y"', tokenKinds: kinds, apis: rest.apis, statements: [], conflicts: [] }),
  ).toBe(`{
  "title": "x \\"y\\"",
  "tokenKinds": [
    { "id": "a", "title": "a" }
  ],
  "apis": [
    { "id": "lobby", "title": "Lobby", "accepts": ["day_pass", "room_key"], "section": "§2" },
    { "id": "library", "title": "Library", "accepts": ["day_pass"], "section": "§2" },
    { "id": "cellar", "title": "Cellar", "accepts": ["room_key"], "section": "§2" }
  ]
}
`)
  expect(matrixText({ title: 'x', tokenKinds: [], apis: [], statements, conflicts })).toMatch(
    /^\{\n {2}"title": "x",\n {2}"tokenKinds": \[\n\n {2}\],\n {2}"apis": \[\n\n {2}\],\n {2}"statements": \[\n {4}\{/,
  )
})
