/** A matrix whose ids are as unlike words as the schema allows. */
import type { Matrix } from '../../../engine/index.ts'

/** The longest id, with every mark. */
const LONGEST = `l.o:n/g-e_s.t${'0'.repeat(115)}`

/** Ids that mean something else elsewhere: paths, names of properties, values of YAML, words of queries. */
const IDS = [
  ...['repos/list', 'repos', 'repos/list/for.user', LONGEST, 'a:b', 'a.b', 'a/b:c.d-e_f', 'null', 'and'],
  ...['true', 'con.structor', 'con', 'routes', 'hasownproperty', 'v1:start', 'x.json', 'in', 'tostring'],
]

/** The same matrix with other ids, of kinds, APIs, statements and conflicts. */
export function withHostileIds(matrix: Matrix): Matrix {
  const rows = [...matrix.apis, ...matrix.tokenKinds, ...matrix.statements, ...matrix.conflicts]
  const ids = new Map(rows.map(({ id }, index) => [id, IDS[index] ?? `${LONGEST.slice(0, 100)}:${index}`]))
  const renamed = (value: unknown): unknown => {
    if (typeof value === 'string') return ids.get(value) ?? value
    if (Array.isArray(value)) return value.map(renamed)
    if (typeof value !== 'object' || value === null) return value
    // Notes have ids as keys.
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [ids.get(key) ?? key, renamed(each)]),
    )
  }
  return renamed(matrix) as Matrix
}
