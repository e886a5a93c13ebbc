/** The matrix as a table for a terminal. */
import type { Engine } from '../../engine/index.ts'
import { columns } from '../base/text-table.ts'

/** One row an API, one column a kind; a contested cell has a star, and the conflicts stand below. */
export function matrixTable(engine: Engine): string {
  const kinds = [...engine.tokenKinds.values()]
  const rows = [...engine.apis.values()].map((api) => [
    api.id,
    ...kinds.map(({ id }) => {
      const mark = api.accepted.some((accepted) => accepted.kind === id) ? '✓' : '·'
      return api.contested.includes(id) ? `${mark} *` : mark
    }),
  ])
  const header = ['api', ...kinds.map((kind) => kind.id)]
  const headers = ['', ...kinds.map((kind) => `in ${kind.header}`)]
  const starred = engine.conflicts.filter((conflict) => conflict.cells.length > 0)
  const lines = [columns([header, headers, ...rows], '   ')]
  if (starred.length > 0) {
    lines.push(
      '',
      engine.strict ? '* contested by the source; strict mode denies it' : '* contested by the source:',
    )
    lines.push(
      columns(
        starred.map((conflict) => ['  ', conflict.id, conflict.type, `the ${conflict.resolution} rules`]),
      ),
    )
  }
  return lines.join('\n')
}
