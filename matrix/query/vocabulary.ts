/** The words of the query language: what each is about, and what it says of a cell. */
import { CELL_ANSWERS, type Cells, conflictsAt } from '../../engine/cells.ts'
import { placesOf, schemeOf } from '../../engine/places.ts'

/** Subject of a term. Of an API it says the same for all kinds, and of a kind the same for all APIs. */
export type About = 'api' | 'kind' | 'cell'

/** A word that is true or not of a cell. */
export interface Flag {
  readonly about: About
  readonly holds: (cells: Cells, row: number, column: number) => boolean
}

/** A word with a value: `=`, `!=`, `~` and `in` compare it. */
export interface Field {
  readonly about: About
  /** The values that it has there: most have one. */
  readonly valuesAt: (cells: Cells, row: number, column: number) => readonly string[]
  /** Every value that it can have, so that a misspelt one is not an empty answer. */
  readonly known: (cells: Cells) => Iterable<string>
}

const answerAt = ({ answers, kinds }: Cells, row: number, column: number) =>
  CELL_ANSWERS[answers[row * kinds.length + column] as number] as (typeof CELL_ANSWERS)[number]

export const FLAGS: Readonly<Record<string, Flag>> = {
  allowed: { about: 'cell', holds: (...cell) => answerAt(...cell).lenient === 'ALLOWED' },
  'strict.allowed': { about: 'cell', holds: (...cell) => answerAt(...cell).strict === 'ALLOWED' },
  contested: { about: 'cell', holds: (...cell) => answerAt(...cell).contested },
  marked: { about: 'cell', holds: (...cell) => answerAt(...cell).marked },
  public: { about: 'api', holds: ({ apis }, row) => apis[row]?.public === true },
}

const ofApi = (value: (api: Cells['apis'][number]) => string): Field => ({
  about: 'api',
  valuesAt: ({ apis }, row) => [value(apis[row] as Cells['apis'][number])],
  known: ({ apis }) => apis.map(value),
})
const ofKind = (values: (kind: Cells['kinds'][number]) => readonly string[]): Field => ({
  about: 'kind',
  valuesAt: ({ kinds }, _row, column) => values(kinds[column] as Cells['kinds'][number]),
  known: ({ kinds }) => kinds.flatMap(values),
})
const ofMode = (mode: 'lenient' | 'strict'): Field => ({
  about: 'cell',
  valuesAt: (...cell) => [answerAt(...cell)[mode]],
  known: () => CELL_ANSWERS.map((answer) => answer[mode]),
})

export const FIELDS: Readonly<Record<string, Field>> = {
  api: ofApi(({ id }) => id),
  title: ofApi(({ title }) => title),
  section: ofApi(({ section }) => section),
  kind: ofKind(({ id }) => [id]),
  header: ofKind((kind) => placesOf(kind).map(({ header }) => header)),
  scheme: ofKind((kind) => placesOf(kind).map(schemeOf)),
  prefix: ofKind((kind) => placesOf(kind).map(({ prefix = '' }) => prefix)),
  family: ofKind(({ family }) => [family]),
  scope: ofKind(({ scopeLevel }) => [scopeLevel]),
  holder: ofKind(({ issuedTo }) => [issuedTo]),
  permission: ofKind(({ permissionScopes }) => permissionScopes),
  reason: ofMode('lenient'),
  'strict.reason': ofMode('strict'),
  conflict: {
    about: 'cell',
    valuesAt: (...cell) => conflictsAt(...cell).map(({ id }) => id),
    known: ({ matrix }) => matrix.conflicts.map(({ id }) => id),
  },
  statement: {
    about: 'cell',
    valuesAt: (...cell) => conflictsAt(...cell).flatMap(({ statements }) => statements),
    known: ({ matrix }) => matrix.statements.map(({ id }) => id),
  },
}

/** The words that compare cells of one API or of one kind with others. */
export const RELATIONS = ['opens', 'opened', 'strict.opens', 'strict.opened'] as const

/** Words with which a term begins. */
export const TERMS: readonly string[] = [...Object.keys(FLAGS), ...Object.keys(FIELDS), ...RELATIONS]
