/** Matrices larger than the shipped one, and questions about all of their cells in an order that no cache can foresee. */
import { compile, type Engine, type Matrix, type Question } from '../engine/index.ts'
import { supportMatrix } from '../matrix/index.ts'
import { cellQuestions } from './questions.ts'

export interface MatrixSize {
  readonly apis: number
  readonly kinds: number
}

/**
 * The shipped matrix with copies of its rows and kinds under further ids, up to the size. A copy accepts what its
 * original accepts, and is accepted where its original is; statements and conflicts stay those of the originals.
 */
export function enlargedMatrix({ apis, kinds }: MatrixSize): Matrix {
  const tokenKinds = copies(supportMatrix.tokenKinds, kinds)
  const kindIds = new Map(supportMatrix.tokenKinds.map(({ id }) => [id, [id]]))
  for (const [index, { id }] of tokenKinds.entries())
    if (index >= kindIds.size) kindIds.get(supportMatrix.tokenKinds[index % kindIds.size]?.id ?? '')?.push(id)
  const rows = copies(supportMatrix.apis, apis).map((row) => ({
    ...row,
    accepts: row.accepts.flatMap((kind) => kindIds.get(kind) ?? []),
  }))
  return { ...supportMatrix, tokenKinds, apis: rows }
}

export function enlargedEngine(size: MatrixSize): Engine {
  return compile(enlargedMatrix(size))
}

/**
 * Every cell once, shuffled, the same way at each call. Ids are strings of their own, equal to the engine's: a
 * program's questions do not come with the objects that the matrix was made of.
 */
export function shuffledQuestions(engine: Engine): Question[] {
  const cells = cellQuestions(engine)
  const random = generator(cells.length)
  for (let index = cells.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1))
    ;[cells[index], cells[other]] = [cells[other] as Question, cells[index] as Question]
  }
  // Made anew in the order in which they are asked, so that reading the questions costs as little as it can.
  return cells.map(({ api, kind, scope }) => ({
    api: Buffer.from(api).toString(),
    kind: Buffer.from(kind).toString(),
    scope: { ...scope },
  }))
}

/** So many rows, the further ones copies under the original's id and a number. */
function copies<T extends { readonly id: string }>(originals: readonly T[], count: number): T[] {
  return Array.from({ length: count }, (_, index) => {
    const original = originals[index % originals.length] as T
    return index < originals.length ? original : { ...original, id: `${original.id}-${index}` }
  })
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32): an order at random that is the same in each run. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
