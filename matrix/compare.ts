/**
 * Comparing: exactly the cells that another matrix opens and closes in both modes, what it loosens and
 * tightens of the kinds, and what else differs.
 */
import { CELL_ANSWERS, type CellAnswer, type Cells, cellsInSteps, conflictsAt } from '../engine/cells.ts'
import { canonicalJson } from '../engine/digest.ts'
import {
  type Api,
  finish,
  type MatrixInput,
  type Reason,
  type Statement,
  type Steps,
} from '../engine/index.ts'
import type { Direction } from './flip-sides.ts'
import { type KindFlip, kindFlips } from './kind-flips.ts'
import { type RenamedApi, type RenameGround, renamedApis } from './renames.ts'

/** `lenient`: the resolutions of the conflicts rule. `strict`: contested cells are denied. */
export type Mode = 'lenient' | 'strict'

export const MODES: readonly Mode[] = Object.freeze(['lenient', 'strict'])

/** The answers of one of the two matrices for a cell. */
export interface CellSide extends Readonly<Record<Mode, Reason>> {
  /** Ids of the conflicts that bear on the cell. */
  readonly conflicts: readonly string[]
}

/** A cell that one matrix allows and the other denies. */
export interface CellFlip {
  readonly direction: Direction
  readonly api: string
  readonly kind: string
  /** The modes in which it flips. */
  readonly modes: readonly Mode[]
  readonly before: CellSide
  readonly after: CellSide
  /** The id that the API had before. Absent: the same. */
  readonly renamedFrom?: string
}

/** A field with another value. `undefined`: the field is absent. */
export interface FieldChange {
  readonly field: string
  readonly before: unknown
  readonly after: unknown
}

export interface Changed {
  readonly id: string
  readonly fields: readonly FieldChange[]
}

/** The rows that are new, those that are gone, and those with changed fields; by id. */
export interface ListChange {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly Changed[]
}

/** An API with another id. Its cells are compared across the two ids. */
export interface Rename {
  readonly from: string
  readonly to: string
  readonly because: RenameGround
  /** The cells that close for callers that still use the old id, and get `UNKNOWN_API`. */
  readonly lost: readonly CellFlip[]
  /**
   * The cells that open for callers that use the new id, and got that before: only unchanged cells.
   * The identity of the API is a guess, which the title of another one can bring about.
   */
  readonly gained: readonly CellFlip[]
}

export interface Comparison {
  /** Opened cells first, then closed ones; among equals in the order of the matrices. */
  readonly flips: readonly CellFlip[]
  /** The changed facts that decisions and issuance take from the kinds themselves. Looser facts first. */
  readonly kindFlips: readonly KindFlip[]
  readonly renames: readonly Rename[]
  /** `undefined`: both have the same title. */
  readonly title: FieldChange | undefined
  readonly tokenKinds: ListChange
  /** Titles and sections; and rows in which a mark is different, and a conflict keeps the cell as it was. */
  readonly apis: ListChange
  readonly statements: ListChange
  readonly conflicts: ListChange
}

/**
 * Compares two matrices. They need not be finished: conflicts that are not declared do not contest a cell.
 *
 * @throws TypeError where one of them is not a matrix, as `compile` does
 */
export function compareMatrices(before: MatrixInput, after: MatrixInput): Comparison {
  return finish(compareInSteps(before, after))
}

/** As {@link compareMatrices}, in small steps: for a page that a person uses meanwhile. */
export function* compareInSteps(before: MatrixInput, after: MatrixInput): Steps<Comparison> {
  const then = yield* cellsInSteps(before)
  const now = yield* cellsInSteps(after)
  const renamed = renamedApis(
    then.apis.filter(({ id }) => !now.rows.has(id)),
    now.apis.filter(({ id }) => !then.rows.has(id)),
  )
  const { flips, reversedMarks } = yield* flipsBetween(then, now, renamed)
  const marksShown = ({ id, accepts, public: _, line: _line, ...texts }: Api) =>
    reversedMarks.has(id) ? { id, accepts, ...texts } : { id, ...texts }
  return {
    flips,
    kindFlips: kindFlips(then.kinds, now.kinds),
    renames: renamed.map((each) => renameOf(then, now, each)),
    title: fieldsOf({ title: before.title }, { title: after.title })[0],
    tokenKinds: yield* listChange(then.kinds, now.kinds),
    apis: yield* listChange(then.apis, now.apis, marksShown, renamed),
    statements: yield* listChange(then.matrix.statements, now.matrix.statements, withoutLine),
    conflicts: yield* listChange(then.matrix.conflicts, now.matrix.conflicts),
  }
}

/** A line moves with every edit of the document above it. */
function withoutLine({ line: _, ...statement }: Statement): object {
  return statement
}

/** A row or a column of one of two matrices, with its place in the first and in the second; -1: in none. */
interface Line {
  readonly id: string
  readonly was: number
  readonly is: number
  readonly renamedFrom: string | undefined
}

interface Flips {
  readonly flips: readonly CellFlip[]
  /** APIs with a different mark in the table and the same cell, because a conflict reverses it. */
  readonly reversedMarks: ReadonlySet<string>
}

function* flipsBetween(then: Cells, now: Cells, renamed: readonly RenamedApi[]): Steps<Flips> {
  const columns = linesOf(then.columns, now.columns)
  const found: Record<Direction, CellFlip[]> = { opened: [], closed: [] }
  const everyone: Record<Direction, CellFlip[]> = { opened: [], closed: [] }
  const reversedMarks = new Set<string>()
  for (const row of linesOf(then.rows, now.rows, renamed)) {
    const ofAll = flipForEveryone(then, now, row)
    if (ofAll !== undefined) everyone[ofAll.direction].push(ofAll)
    for (const column of columns) {
      const [was, is] = [answerAt(then, row.was, column.was), answerAt(now, row.is, column.is)]
      // Survives: `was === is` → `false`. It only spares a look: equal answers flip nothing.
      if (was === is) continue
      const flips = flipsOf(was, is)
      for (const { direction, modes } of flips)
        found[direction].push({
          ...{ direction, api: row.id, kind: column.id, modes },
          before: sideOf(then, row.was, column.was),
          after: sideOf(now, row.is, column.is),
          ...(row.renamedFrom !== undefined && { renamedFrom: row.renamedFrom }),
        })
      const isShared = was !== ABSENT && is !== ABSENT
      if (isShared && flips.length === 0 && isMarked(was) !== isMarked(is)) reversedMarks.add(row.id)
    }
    yield
  }
  const flips = [...everyone.opened, ...found.opened, ...everyone.closed, ...found.closed]
  return { flips, reversedMarks }
}

/** Takes the place of a kind in the flip of an API that needs no token on one of the sides. */
export const EVERYONE = 'everyone'

function flipForEveryone(then: Cells, now: Cells, { id, was, is, renamedFrom }: Line): CellFlip | undefined {
  const [before, after] = [sideForEveryone(then, was), sideForEveryone(now, is)]
  const [open, opens] = [before, after].map(({ lenient }) => lenient === 'ALLOWED')
  if (open === opens) return undefined
  return {
    ...{ direction: opens ? 'opened' : 'closed', api: id, kind: EVERYONE, modes: MODES, before, after },
    ...(renamedFrom !== undefined && { renamedFrom }),
  }
}

/** Sides without a conflict, of which there are few. */
const PLAIN_SIDES = CELL_ANSWERS.map(({ lenient, strict }): CellSide => plainSide(lenient, strict))
const NO_API = plainSide('UNKNOWN_API', 'UNKNOWN_API')
const NO_KIND = plainSide('UNKNOWN_TOKEN_KIND', 'UNKNOWN_TOKEN_KIND')

function plainSide(lenient: Reason, strict: Reason): CellSide {
  return Object.freeze({ lenient, strict, conflicts: Object.freeze([]) })
}

const FOR_ALL = plainSide('ALLOWED', 'ALLOWED')
const NOT_FOR_ALL = plainSide('CREDENTIAL_MISSING', 'CREDENTIAL_MISSING')

function sideForEveryone({ apis }: Cells, row: number): CellSide {
  if (row < 0) return NO_API
  return apis[row]?.public === true ? FOR_ALL : NOT_FOR_ALL
}

/** Those of the second matrix first: it is the one in front of the reader. */
function linesOf(
  then: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
  renamed: readonly RenamedApi[] = [],
): Line[] {
  const from = new Map(renamed.map((each) => [each.to.id, each.from.id]))
  const gone = new Set(from.values())
  const lines = Array.from(now, ([id, is]): Line => {
    const renamedFrom = from.get(id)
    return { id, was: then.get(renamedFrom ?? id) ?? -1, is, renamedFrom }
  })
  for (const [id, was] of then)
    if (!now.has(id) && !gone.has(id)) lines.push({ id, was, is: -1, renamedFrom: undefined })
  return lines
}

/** Of a cell that a matrix does not have. */
const ABSENT = -1

/** Index into `CELL_ANSWERS`. */
function answerAt({ answers, kinds }: Cells, row: number, column: number): number {
  return row < 0 || column < 0 ? ABSENT : (answers[row * kinds.length + column] as number)
}

interface FlipModes {
  readonly direction: Direction
  readonly modes: readonly Mode[]
}

/** The outcome for a cell that goes from one answer to another: worked out once for each two. */
const FLIPS: readonly (readonly (readonly FlipModes[])[])[] = withAbsent((was) =>
  withAbsent((is) =>
    (['opened', 'closed'] as const).flatMap((direction): FlipModes[] => {
      const modes = MODES.filter((mode) => {
        const [then, now] = [isAllowed(was, mode), isAllowed(is, mode)]
        return then !== now && now === (direction === 'opened')
      })
      return modes.length === 0 ? [] : [{ direction, modes: Object.freeze(modes) }]
    }),
  ),
)

function flipsOf(was: number, is: number): readonly FlipModes[] {
  return (FLIPS[was + 1] as (typeof FLIPS)[number])[is + 1] as readonly FlipModes[]
}

function withAbsent<T>(make: (answer: number) => T): readonly T[] {
  return [ABSENT, ...CELL_ANSWERS.keys()].map(make)
}

function isAllowed(answer: number, mode: Mode): boolean {
  return CELL_ANSWERS[answer]?.[mode] === 'ALLOWED'
}

const isMarked = (answer: number): boolean => (CELL_ANSWERS[answer] as CellAnswer).marked

function sideOf(cells: Cells, row: number, column: number): CellSide {
  if (row < 0) return NO_API
  if (column < 0) return NO_KIND
  const side = PLAIN_SIDES[answerAt(cells, row, column)] as CellSide
  const conflicts = conflictsAt(cells, row, column)
  // Survives: `conflicts.length === 0` → `false`. It only spares an object with the same fields.
  return conflicts.length === 0 ? side : { ...side, conflicts: conflicts.map(({ id }) => id) }
}

function renameOf(was: Cells, is: Cells, { from, to, because }: RenamedApi): Rename {
  const [row, next] = [was.rows.get(from.id) as number, is.rows.get(to.id) as number]
  const lost = was.kinds.flatMap(({ id: kind }, column) =>
    flipsOf(answerAt(was, row, column), ABSENT).map(
      ({ direction, modes }): CellFlip => ({
        ...{ direction, api: from.id, kind, modes },
        before: sideOf(was, row, column),
        after: NO_API,
      }),
    ),
  )
  const gained = is.kinds.flatMap(({ id: kind }, column): CellFlip[] => {
    const answers = [answerAt(was, row, was.columns.get(kind) ?? -1), answerAt(is, next, column)]
    const modes = MODES.filter((mode) => answers.every((answer) => isAllowed(answer, mode)))
    if (modes.length === 0) return []
    const after = sideOf(is, next, column)
    return [{ direction: 'opened', api: to.id, kind, modes, before: NO_API, after }]
  })
  const ofAll = [
    flipForEveryone(was, is, { id: from.id, was: row, is: -1, renamedFrom: undefined }),
    from.public && flipForEveryone(was, is, { id: to.id, was: -1, is: next, renamedFrom: undefined }),
  ]
  const [lostByAll, gainedByAll] = ofAll.map((flip) => (flip ? [flip] : []))
  return {
    ...{ from: from.id, to: to.id, because },
    lost: [...(lostByAll ?? []), ...lost],
    gained: [...(gainedByAll ?? []), ...gained],
  }
}

interface Identified {
  readonly id: string
}

/** @param shown the fields of an item that are compared */
function* listChange<T extends Identified>(
  before: readonly T[],
  after: readonly T[],
  shown: (item: T) => object = (item) => item,
  renamed: readonly { readonly from: T; readonly to: T }[] = [],
): Steps<ListChange> {
  const then = new Map(before.map((item) => [item.id, item]))
  const now = new Set(after.map(({ id }) => id))
  const from = new Map(renamed.map((each) => [each.to.id, each.from]))
  const gone = new Set(renamed.map((each) => each.from.id))
  const changed: Changed[] = []
  for (const item of after) {
    const earlier = then.get(item.id) ?? from.get(item.id)
    // Survives: `earlier !== item` → `true`. It only spares the comparison of an item with itself.
    if (earlier !== undefined && earlier !== item) {
      const fields = fieldsOf({ ...shown(earlier), id: '' }, { ...shown(item), id: '' })
      if (fields.length > 0) changed.push({ id: item.id, fields })
    }
    yield
  }
  return {
    added: after.filter(({ id }) => !then.has(id) && !from.has(id)).map(({ id }) => id),
    removed: before.filter(({ id }) => !now.has(id) && !gone.has(id)).map(({ id }) => id),
    changed,
  }
}

function fieldsOf(before: object, after: object): FieldChange[] {
  const [then, now] = [before, after] as [Record<string, unknown>, Record<string, unknown>]
  return [...new Set([...Object.keys(now), ...Object.keys(then)])]
    .filter((field) => jsonOf(then[field]) !== jsonOf(now[field]))
    .map((field) => ({ field, before: then[field], after: now[field] }))
}

/** Two values are the same where this is: the order of keys does not matter. */
function jsonOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonicalJson(value)
}
