/** Questions about every cell of a matrix, with a genuine token in each place of its kind. */
import { carriageOf, type Engine, fieldValue, type Place, type Scope } from '../../engine/index.ts'
import type { Header, Question } from './questions.ts'

/** A token that the authority verifies. */
export interface Token {
  readonly value: string
  readonly scope: Scope
  readonly holder: string
}

/** The headers of a request with a token in a place. */
export function headersIn(place: Place, value: string): readonly Header[] {
  const beside: readonly Header[] = place.with === undefined ? [] : [[place.with, 'anyone']]
  return [[place.header, fieldValue(place, value)], ...beside]
}

/** @param tokens of each kind, in the order of the matrix; without one it is asked about by its claims */
export function everyCell(library: Engine, tokens: readonly (Token | undefined)[]): readonly Question[] {
  const kinds = [...library.tokenKinds.values()]
  return [...library.apis.keys()].flatMap((api) =>
    kinds.flatMap(({ id, places }, index): readonly Question[] => {
      const token = tokens[index]
      const { value = '', scope = { account: 'any' } } = token ?? {}
      const { reason } = library.decide({ api, kind: id, scope })
      const cell = { what: `a genuine ${id} for ${api}`, api, reason }
      if (token === undefined) return [{ ...cell, subject: { claims: { kind: id, scope } } }]
      return places.map((place) => ({
        ...cell,
        what: `${cell.what} in ${carriageOf(place)}`,
        subject: { headers: headersIn(place, value) },
        known: { kind: id, scope, holder: token.holder },
      }))
    }),
  )
}
