/** Where the paths of problems are in the text of a JSON document, so that an editor finds them. */
import { visit } from 'jsonc-parser'
import type { Place } from './problems.ts'

/** A place that is looked for, and the parts that are looked for in it. */
class Wanted {
  place: Place | undefined
  readonly members = new Map<string | number, Wanted>()

  at(segment: string | number): Wanted {
    let member = this.members.get(segment)
    if (member === undefined) {
      member = new Wanted()
      this.members.set(segment, member)
    }
    return member
  }
}

/** A part that is being read: the wanted parts of it, and for a list the number of items before. */
interface Level {
  readonly wanted: Wanted | undefined
  index: number | undefined
}

/**
 * The places of paths such as `apis[3].accepts[0]`, each that of the key or of the item. Of a path that is
 * not there it is the place of what it should be in; `undefined`: that is the whole document. Takes one walk
 * over the text, however many paths there are.
 */
export function placesOf(text: string, paths: readonly string[]): readonly (Place | undefined)[] {
  const root = new Wanted()
  const routes = paths.map((path) => {
    const route: Wanted[] = []
    for (const segment of segmentsOf(path)) route.push((route.at(-1) ?? root).at(segment))
    return route
  })
  // A document that is wrong as a whole may be nested deeper than the walk can follow.
  if (root.members.size > 0) find(text, root)
  return routes.map((route) => route.findLast(({ place }) => place !== undefined)?.place)
}

function find(text: string, root: Wanted): void {
  // Survives: `[]` → `["Stryker was here"]`. Separators and keys are inside of something, and nothing is
  // looked for outside.
  const levels: Level[] = []
  /** The parts wanted of the value that comes next. */
  let next: Wanted | undefined = root
  const found = (line: number, column: number): void => {
    const level = levels.at(-1)
    if (level?.index === undefined) return
    next = level.wanted?.members.get(level.index)
    if (next !== undefined) next.place ??= { line: line + 1, column: column + 1 }
  }
  const enter = (index: number | undefined, line: number, column: number): void => {
    found(line, column)
    levels.push({ wanted: next, index })
    next = undefined
  }
  const leave = (): void => void levels.pop()
  visit(text, {
    onObjectBegin: (_offset, _length, line, column) => enter(undefined, line, column),
    onObjectEnd: leave,
    onArrayBegin: (_offset, _length, line, column) => enter(0, line, column),
    onArrayEnd: leave,
    onLiteralValue: (_value, _offset, _length, line, column) => found(line, column),
    onSeparator: () => {
      const level = levels.at(-1)
      // Survives: `level?.index` → `level.index`. Separators and keys are inside of something, and nothing is
      // looked for outside.
      if (level?.index !== undefined) level.index++
    },
    onObjectProperty: (key, _offset, _length, line, column) => {
      // Survives: `levels.at(-1)?.wanted` → `levels.at(-1).wanted`. Separators and keys are inside of
      // something, and nothing is looked for outside.
      next = levels.at(-1)?.wanted?.members.get(key)
      // Of a key that repeats, the last one is the fault.
      if (next !== undefined) next.place = { line: line + 1, column: column + 1 }
    },
  })
}

/** The keys and indexes of a path that `pathOf` has made. */
export function segmentsOf(path: string): (string | number)[] {
  return [...path.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([A-Za-z_$][\w$]*)/g)].map(
    ([, index, quoted, name]) => {
      if (index !== undefined) return Number(index)
      return quoted === undefined ? (name as string) : (JSON.parse(quoted) as string)
    },
  )
}
