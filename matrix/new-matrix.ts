/** The text of a matrix without a file: a new one, or one in the memory of a program. */
import type { Api, Matrix, TokenKind } from '../engine/index.ts'
import { rowText } from './document/edit.ts'
import { flowText, yamlItem } from './document/edit-yaml.ts'
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
  const { title, kind, kindTitle, header, scheme, prefix, apis } = made
  const matrix: Matrix = {
    title,
    tokenKinds: [kindRow(kind, { title: kindTitle, header, scheme, prefix })],
    apis: apis.map(({ id, title: name }) => ({ id, title: name, accepts: [kind], section: NO_SECTION })),
    ...{ statements: [], conflicts: [] },
  }
  return matrixText(matrix, form, schema)
}

const COMMENTS: Readonly<Record<string, string>> = {
  tokenKinds: 'Kinds of token: the header that carries each, what it is bound to, and who holds it.',
  apis: 'A row for each API, with the kinds that open it.',
}

/** The text of a whole matrix with a row a line. @param schema as for a new one */
export function matrixText(matrix: Matrix, form: DocumentForm['id'] = 'json', schema?: string): string {
  const { title, source, tokenKinds, apis, statements, conflicts } = matrix
  const lists = Object.entries({ tokenKinds, apis, statements, conflicts }).filter(
    ([name, rows]) => rows.length > 0 || name === 'tokenKinds' || name === 'apis',
  )
  if (form === 'yaml') return yamlText({ title, source }, lists, schema)
  const note = (name: string) =>
    form === 'jsonc' && COMMENTS[name] !== undefined ? `  // ${COMMENTS[name]}\n` : ''
  const members = [
    ...(schema === undefined ? [] : [`  "$schema": ${JSON.stringify(schema)}`]),
    `  "title": ${JSON.stringify(title)}`,
    ...(source === undefined ? [] : [`  "source": ${rowText(source, '  ')}`]),
    ...lists.map(([name, rows]) => `${note(name)}  "${name}": [\n${rowsText(rows)}\n  ]`),
  ]
  return `{\n${members.join(',\n')}\n}\n`
}

const rowsText = (rows: readonly object[]) => rows.map((row) => `    ${rowText(row, '    ')}`).join(',\n')

function yamlText(
  { title, source }: Pick<Matrix, 'title' | 'source'>,
  lists: readonly (readonly [name: string, rows: readonly object[]])[],
  schema: string | undefined,
): string {
  return [
    ...(schema === undefined ? [] : [`# yaml-language-server: $schema=${schema}`]),
    `title: ${JSON.stringify(title)}`,
    ...(source === undefined ? [] : [`source: ${flowText(source)}`]),
    ...lists.flatMap(([name, rows]) => [
      ...(COMMENTS[name] === undefined ? [] : [`# ${COMMENTS[name]}`]),
      rows.length === 0 ? `${name}: []` : `${name}:`,
      ...rows.map((row) => yamlItem(row, '  ')),
    ]),
    '',
  ].join('\n')
}
