/** Matrices that are larger than the shipped one, and questions about all their cells in random order. */
import { compile, type Engine, type Matrix, type Question } from '../../engine/index.ts'
import { deriveConflicts, supportMatrix } from '../../matrix/index.ts'
import { cellQuestions } from './questions.ts'

export interface MatrixSize {
  readonly apis: number
  readonly kinds: number
}

/**
 * The shipped matrix, enlarged by copies of its rows and kinds under new ids. A copy of an API accepts the
 * same kinds as its original, and a copy of a kind is accepted by the same APIs. Statements and conflicts are
 * not copied.
 */
export function enlargedMatrix({ apis, kinds }: MatrixSize): Matrix {
  const tokenKinds = copies(supportMatrix.tokenKinds, kinds)
  const kindIds = new Map<string, string[]>(supportMatrix.tokenKinds.map(({ id }) => [id, [id]]))
  for (const [index, { id }] of tokenKinds.entries())
    if (index >= kindIds.size) kindIds.get(supportMatrix.tokenKinds[index % kindIds.size]?.id ?? '')?.push(id)
  const rows = copies(supportMatrix.apis, apis).map((row) => ({
    ...row,
    accepts: row.accepts.flatMap((kind) => kindIds.get(kind) ?? []),
  }))
  return { ...supportMatrix, tokenKinds, apis: rows }
}

/**
 * The same as a file: it also declares the conflicts that its rows have with the statements, none of which is
 * complete.
 */
export function enlargedFile(size: MatrixSize, title: string): Matrix {
  const matrix = { ...enlargedMatrix(size), title }
  const statements = matrix.statements.map((statement) =>
    statement.claim.type === 'manages'
      ? { ...statement, claim: { ...statement.claim, complete: false } }
      : statement,
  )
  const conflicts = deriveConflicts({ ...matrix, statements }).map((derived, index) => ({
    ...derived,
    ...{ id: `conflict-${index}`, resolution: 'table' as const, reason: 'the table rules' },
  }))
  return { ...matrix, statements, conflicts }
}

export function enlargedEngine(size: MatrixSize): Engine {
  return compile(enlargedMatrix(size))
}

/**
 * One question for each cell, shuffled in the same way at each call, so that no cache can foresee the order.
 * The ids are new strings: a real program's questions do not contain the string objects of the matrix either.
 */
export function shuffledQuestions(engine: Engine): Question[] {
  const cells = cellQuestions(engine)
  const random = generator(cells.length)
  for (let index = cells.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1))
    ;[cells[index], cells[other]] = [cells[other] as Question, cells[index] as Question]
  }
  // Allocated in the order in which they are asked, so that reading the questions costs as little as
  // possible.
  return cells.map(({ api, kind, scope }) => ({
    api: Buffer.from(api).toString(),
    kind: Buffer.from(kind).toString(),
    scope: { ...scope },
  }))
}

/** As many rows as asked for. Those beyond the originals are copies, with a number added to the id. */
function copies<T extends { readonly id: string }>(originals: readonly T[], count: number): T[] {
  return Array.from({ length: count }, (_, index) => {
    const original = originals[index % originals.length] as T
    return index < originals.length ? original : { ...original, id: `${original.id}-${index}` }
  })
}

/**
 * Random numbers from 0 to 1 (mulberry32). The same seed gives the same numbers, so each run has the same
 * order.
 */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
