/** The matrix as text for a terminal. */

import type { CompiledKind, Engine, NamedConflict } from '../../../../engine/index.ts'
import { carriageOf } from '../../../../engine/places.ts'
import { columns } from '../../../base/text-table.ts'
import { counted } from '../../terminal/output.ts'
import { paint } from '../../terminal/terminal.ts'

/** The table, all conflicts, and the digest. */
export function matrixPage(engine: Engine): string {
  const others = engine.conflicts.filter((conflict) => conflict.cells.length === 0)
  return [
    matrixTable(engine),
    ...(others.length > 0
      ? ['', paint('bold', 'conflicts that contest no cell:'), conflictRows(others)]
      : []),
    '',
    paint('dim', `${engine.digest}${engine.strict ? ', strict' : ''}`),
  ].join('\n')
}

/**
 * A row for each API and a column for each kind. A star marks a contested cell; its conflicts follow the
 * table.
 */
export function matrixTable(engine: Engine): string {
  const kinds = [...engine.tokenKinds.values()]
  const apis = [...engine.apis.values()]
  const isAnyPublic = apis.some((api) => api.public)
  const rows = apis.map((api) => [
    api.id,
    ...kinds.map(({ id }) => {
      const accepted = api.accepted.some(({ kind }) => kind === id)
      const mark = accepted ? paint('green', '✓') : paint('dim', '·')
      const note = api.notes[id]
      return [mark, ...(api.contested.includes(id) ? ['*'] : []), ...(note === undefined ? [] : [note])].join(
        ' ',
      )
    }),
    ...(isAnyPublic ? [api.public ? 'needs no token' : ''] : []),
  ])
  const header = ['api', ...kinds.map((kind) => kind.id)].map((text) => paint('bold', text))
  const headers = ['', ...kinds.map((kind) => paint('dim', inPlaces(kind)))]
  const contesting = engine.conflicts.filter((conflict) => conflict.cells.length > 0)
  const heading = engine.strict
    ? '* contested by the source; strict mode denies it'
    : '* contested by the source:'
  return [
    columns([header, headers, ...rows], '   '),
    ...(contesting.length > 0 ? ['', paint('bold', heading), conflictRows(contesting)] : []),
  ].join('\n')
}

function inPlaces(kind: CompiledKind): string {
  const more = kind.places.length - 1
  return `in ${carriageOf(kind)}${more === 0 ? '' : ` and ${counted(more, 'other place')}`}`
}

function conflictRows(conflicts: readonly NamedConflict[]): string {
  return columns(conflicts.map(({ id, type, resolution }) => ['  ', id, type, `the ${resolution} decides`]))
}
