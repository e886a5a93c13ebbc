/** The facts of a document about kinds of token and APIs, before they become a matrix. */
import type { Matrix, MatrixSource, TokenKind } from '../../engine/index.ts'
import { spaced } from './blocks.ts'
import type { MarkMeaning } from './marks.ts'

/** How a document is read. An absent choice is found in the document. */
export type ReadOptions = Omit<MatrixSource, 'document' | 'digest'>

/** As the matrix says that its document is read, and as a person chooses now. */
export function readOptionsWith(into: Matrix | undefined, chosen: ReadOptions): ReadOptions {
  const { document: _, digest: __, ...kept } = into?.source ?? { document: '', digest: '' }
  return {
    ...kept,
    ...chosen,
    marks: { ...kept.marks, ...chosen.marks },
    ...((kept.names ?? chosen.names) && { names: { ...kept.names, ...chosen.names } }),
    leaveOut: [...new Set([...(kept.leaveOut ?? []), ...(chosen.leaveOut ?? [])])],
  }
}

/** The fields of a kind that say where its tokens travel. */
export type Carriage = Pick<TokenKind, 'header' | 'scheme' | 'prefix' | 'places'>

export interface ReadKind {
  readonly heading: string
  readonly line: number
  /** Where it travels, as an OpenAPI description says. */
  readonly carriage?: Carriage | undefined
}

export interface ReadApi {
  readonly heading: string
  /** Where the document has a column of ids. */
  readonly id?: string | undefined
  /** The heading above it in the document. */
  readonly section: string
  readonly line: number
  /** Indexes of kinds. */
  readonly accepts: readonly number[]
  /** Index of a kind → advice. */
  readonly notes: ReadonlyMap<number, string>
  readonly isPublic: boolean
}

/** A row that the table prints once more. */
export interface RepeatedRow {
  /** Index of the API. */
  readonly api: number
  readonly accepts: readonly number[]
  readonly line: number
}

/** A part of the document that is not in the matrix. */
export interface LeftOut {
  readonly line: number
  readonly what: string
  readonly why: string
}

/** A mark and how often it stands in the table. */
export interface CountedMark {
  readonly mark: string
  /** `undefined`: not known. */
  readonly meaning: MarkMeaning | undefined
  readonly count: number
  /** Lines of the first cells with it. */
  readonly lines: readonly number[]
}

/** A request of an OpenAPI description and its API, by index. */
export interface ReadRoute {
  readonly path: string
  readonly method: string
  readonly api: number
  readonly line: number
}

export interface Reading {
  /** The choices that `ReadOptions` may leave open: how the same table is found again. */
  readonly found: Pick<ReadOptions, 'table' | 'kinds'>
  /** In words, for example `table 2 of 3, under “Tokens”`. */
  readonly where: string
  /** The heading above it; empty: there is none. */
  readonly under: string
  readonly line: number
  readonly kindsAre: 'columns' | 'rows' | 'security schemes'
  readonly kinds: readonly ReadKind[]
  readonly apis: readonly ReadApi[]
  /** Whether it says which APIs need no token. */
  readonly saysPublic: boolean
  readonly repeated: readonly RepeatedRow[]
  readonly leftOut: readonly LeftOut[]
  readonly marks: readonly CountedMark[]
  readonly routes: readonly ReadRoute[]
  /** The texts of the document with their lines, in order. Statements quote them. */
  readonly texts: readonly { readonly line: number; readonly text: string }[]
}

/** The names that a matrix has already: a heading may be one of them. */
export interface KnownNames {
  readonly kinds: ReadonlySet<string>
  readonly apis: ReadonlySet<string>
}

/** The id that a person or an earlier import has given to a heading. */
export function namedId({ names = {} }: ReadOptions, heading: string): string | undefined {
  return Object.hasOwn(names, heading) ? names[heading] : undefined
}

/** A heading as it is compared: in small letters. */
export const nameKey = (heading: string): string => spaced(heading).toLowerCase()
