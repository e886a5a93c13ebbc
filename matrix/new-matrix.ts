/** The text of a matrix without a file: a new one, or one in the memory of a program. */
import type { Api, Matrix, TokenKind } from '../engine/index.ts'
import { rowText } from './document/edit.ts'
import { yamlItem } from './document/edit-yaml.ts'
import type { DocumentForm } from './document/index.ts'

/** The first content of a matrix. */
export interface NewMatrix {
  readonly title: string
  /** Id of the first kind of token. */
  readonly kind: string
  /** Its name for people; `undefined`: its id. */
  readonly kindTitle?: string | undefined
  readonly header: string
  readonly scheme?: string | undefined
  readonly prefix?: string | undefined
  /** APIs that the kind opens; at least one. */
  readonly apis: readonly Pick<Api, 'id' | 'title'>[]
}

/** The fields of a kind where its id alone is given. */
export type KindFields = Pick<TokenKind, 'header'> &
  Partial<Pick<TokenKind, 'family' | 'scopeLevel' | 'issuedTo' | 'section'>> & {
    readonly title?: string | undefined
    readonly scheme?: string | undefined
    readonly prefix?: string | undefined
    readonly obtainedBy?: TokenKind['obtained']['by'] | undefined
  }

/** The section of a row when none is given. */
export const NO_SECTION = 'not stated'

/** A row of a kind. Whether its values are right is for the schema to say. */
export function kindRow(id: string, fields: KindFields): TokenKind {
  const { title = id, family = id, scopeLevel = 'account', header, scheme, prefix } = fields
  const { issuedTo = 'user', obtainedBy = 'issue', section = NO_SECTION } = fields
  return {
    ...{ id, title, family, scopeLevel, header },
    ...(scheme !== undefined && { scheme }),
    ...(prefix !== undefined && { prefix }),
    ...{ issuedTo, obtained: { by: obtainedBy }, permissionScopes: [], lifetimeSeconds: null, section },
  }
}

/**
 * The text in a form.
 *
 * @param schema where an editor finds the schema; `undefined`: the text does not say
 */
export function newMatrixText(made: NewMatrix, form: DocumentForm['id'], schema: string | undefined): string {
  return form === 'yaml' ? yamlText(made, schema) : jsonText(made, form === 'jsonc', schema)
}

function rowsOf({ kind, kindTitle, header, scheme, prefix, apis }: NewMatrix) {
  return {
    kinds: [kindRow(kind, { title: kindTitle, header, scheme, prefix })],
    apis: apis.map(({ id, title }) => ({ id, title, accepts: [kind], section: NO_SECTION })),
  }
}

const COMMENTS = {
  kinds: 'Kinds of token: the header that carries each, what it is bound to, and who holds it.',
  apis: 'A row for each API, with the kinds that open it.',
}

function jsonText(made: NewMatrix, comments: boolean, schema: string | undefined): string {
  const { kinds, apis } = rowsOf(made)
  const note = (text: string) => (comments ? [`  // ${text}`] : [])
  return [
    '{',
    ...(schema === undefined ? [] : [`  "$schema": ${JSON.stringify(schema)},`]),
    `  "title": ${JSON.stringify(made.title)},`,
    ...[...note(COMMENTS.kinds), '  "tokenKinds": [', rowsText(kinds), '  ],'],
    ...[...note(COMMENTS.apis), '  "apis": [', rowsText(apis), '  ]'],
    '}',
    '',
  ].join('\n')
}

const rowsText = (rows: readonly object[]) => rows.map((row) => `    ${rowText(row, '    ')}`).join(',\n')

function yamlText(made: NewMatrix, schema: string | undefined): string {
  const { kinds, apis } = rowsOf(made)
  const list = (rows: readonly object[]) => rows.map((row) => yamlItem(row, '  '))
  return [
    ...(schema === undefined ? [] : [`# yaml-language-server: $schema=${schema}`]),
    `title: ${JSON.stringify(made.title)}`,
    ...[`# ${COMMENTS.kinds}`, 'tokenKinds:', ...list(kinds)],
    ...[`# ${COMMENTS.apis}`, 'apis:', ...list(apis)],
    '',
  ].join('\n')
}

/** The text of a matrix that is in no file, as JSON with a row a line. */
export function matrixText({ title, tokenKinds, apis, statements, conflicts }: Matrix): string {
  const lists = Object.entries({ tokenKinds, apis, statements, conflicts }).filter(
    ([name, rows]) => rows.length > 0 || name === 'tokenKinds' || name === 'apis',
  )
  const members = lists.map(([name, rows]) => `  "${name}": [\n${rowsText(rows)}\n  ]`)
  return `{\n${[`  "title": ${JSON.stringify(title)}`, ...members].join(',\n')}\n}\n`
}
