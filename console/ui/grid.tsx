/**
 * The table. Only the rows in sight are drawn, so that ten thousand are as quick as thirty; `aria-rowcount`
 * and `aria-rowindex` say how many there are. One cell is in the order of the Tab key, and arrows move from
 * it.
 */

import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { carriageOf } from '../../engine/index.ts'
import { drawnRows, moved, type Place } from '../model/moves.ts'
import { wordsOf } from '../model/search.ts'
import type { Fits, Row, Table } from '../model/table.ts'
import type { Opened } from '../model/view.ts'
import { texts } from '../texts/en/explorer.ts'
import { Mark } from './icons.tsx'
import { headline, Marked } from './parts.tsx'
import { useRowHeight } from './row-height.ts'

interface GridProps {
  readonly table: Table
  readonly rows: readonly Row[]
  /** Words that are marked. */
  readonly search: string
  /** The cells that an expression left; the others are faint. `undefined`: all of them. */
  readonly fits: Fits | undefined
  /** The filters that chose the rows. */
  readonly filters: string
  readonly opened: Opened | undefined
  /** @param byKey whether a key asked for it, so that the focus goes along */
  readonly open: (opened: Opened, byKey: boolean) => void
}

/**
 * The part of the table that its kinds have, and how wide a column is that has room for all words, in CSS
 * pixels.
 */
const FOR_KINDS = 0.62
const WITH_WORDS_MIN = 170

export function Grid({ table, rows, search, fits, filters, opened, open }: GridProps) {
  const sight = useRowHeight(rows.length)
  const { box, head, rowHeight, first, inSight, onScroll } = sight
  const isNarrow = sight.width * FOR_KINDS < table.kinds.length * WITH_WORDS_MIN
  const { place, onKeyDown, onClick } = useMoves({ table, rows, filters, opened, open }, sight)

  const words = wordsOf(search)
  return (
    <div class="scroll" ref={box} onScroll={onScroll}>
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a grid, in which the arrow keys move
        role="grid"
        class="grid"
        aria-label={texts.table.caption}
        aria-rowcount={rows.length + 1}
        aria-colcount={table.kinds.length + 1}
        data-narrow={isNarrow}
        style={{ '--row': `${rowHeight}px` }}
        onKeyDown={onKeyDown}
        onClick={onClick}
      >
        <thead ref={head}>
          <tr aria-rowindex={1}>
            <th scope="col">
              <span class="kind-title">{texts.table.api}</span>
              <span class="count">{texts.table.shown(rows.length, table.rows.length)}</span>
            </th>
            {table.kinds.map((kind) => (
              <th scope="col" key={kind.id}>
                <span class="kind-title">{headline(kind.title)}</span>
                <span class="kind-header">{texts.table.inHeader(carriageOf(kind))}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {drawnRows(rows.length, first, inSight, place.row).map((drawn) =>
            'skipped' in drawn ? (
              // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
              <tr aria-hidden="true" class="skipped" key={`skipped-before-${drawn.before}`}>
                <td colSpan={table.kinds.length + 1} style={{ height: `${drawn.skipped * rowHeight}px` }} />
              </tr>
            ) : (
              <GridRow
                // By its place: while the user types, a row that is drawn already takes the texts of another
                // API. Rows that are made anew took half of each frame.
                key={drawn.row}
                index={drawn.row}
                row={rows[drawn.row] as Row}
                table={table}
                words={words}
                fits={fits}
                activeColumn={place.row === drawn.row ? place.column : undefined}
                opened={opened}
              />
            ),
          )}
        </tbody>
      </table>
      {rows.length === 0 && (
        <p class="nothing">
          <strong>{texts.table.none}</strong> {texts.table.noneHint}
        </p>
      )}
    </div>
  )
}

const FIRST_PLACE: Place = { row: 0, column: 0 }

/** The cell with the focus, and what keys and the mouse do with it. */
function useMoves(
  { table: { kinds }, rows, filters, opened, open }: Omit<GridProps, 'search' | 'fits'>,
  { box, head, rowHeight, inSight }: ReturnType<typeof useRowHeight>,
) {
  const [active, setActive] = useState<Place>(FIRST_PLACE)
  const follow = useRef(false)
  const place: Place = { ...active, row: Math.min(active.row, Math.max(0, rows.length - 1)) }
  const show = (shown: Place) => {
    setActive(shown)
    if (box.current && head.current) bringIntoSight(box.current, head.current, shown, rowHeight)
  }

  // Other filters begin at the top.
  useLayoutEffect(() => {
    show(FIRST_PLACE)
  }, [filters])

  // A link can lead to a cell that is far down. A clicked cell is in sight.
  useLayoutEffect(() => {
    const row = rows.findIndex(({ api }) => api.id === opened?.api)
    if (row !== -1) show({ row, column: kinds.findIndex(({ id }) => id === opened?.kind) + 1 })
  }, [opened?.api, opened?.kind])

  useLayoutEffect(() => {
    if (!follow.current) return
    follow.current = false
    const cell = box.current?.querySelector<HTMLElement>(`[data-place="${place.row}:${place.column}"]`)
    cell?.focus({ preventScroll: true })
  })

  const openAt = ({ row, column }: Place, byKey: boolean) => {
    const api = rows[row]?.api.id
    if (api !== undefined) open({ api, kind: kinds[column - 1]?.id }, byKey)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.metaKey) return
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      return openAt(place, true)
    }
    const size = { rows: rows.length, columns: kinds.length + 1, page: Math.max(1, inSight - 1) }
    const next = moved(place, event.key, event.ctrlKey, size)
    if (next === undefined) return
    event.preventDefault()
    follow.current = true
    show(next)
  }
  const onClick = (event: MouseEvent) => {
    const clicked = placeOf(event.target)
    if (clicked === undefined) return
    setActive(clicked)
    openAt(clicked, false)
  }
  return { place, onKeyDown, onClick }
}

interface GridRowProps {
  readonly index: number
  readonly row: Row
  readonly table: Table
  readonly words: readonly string[]
  readonly fits: Fits | undefined
  readonly activeColumn: number | undefined
  readonly opened: Opened | undefined
}

function GridRow({ index, row, table, words, fits, activeColumn, opened }: GridRowProps) {
  const isOpened = opened?.api === row.api.id
  const tabIndex = (column: number) => (column === activeColumn ? 0 : -1)
  return (
    <tr aria-rowindex={index + 2} class={isOpened ? 'opened' : undefined}>
      <th
        scope="row"
        tabIndex={tabIndex(0)}
        data-place={`${index}:0`}
        aria-selected={isOpened && opened.kind === undefined}
        title={row.api.id}
      >
        <span class="api-title">
          <Marked text={row.api.title} words={words} />
          {row.api.public && <span class="public">{texts.table.public}</span>}
        </span>
        <code class="api-id">
          <Marked text={row.api.id} words={words} />
        </code>
      </th>
      {table.kinds.map((kind, column) => (
        <td
          key={kind.id}
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the role that a cell has in a grid
          role="gridcell"
          tabIndex={tabIndex(column + 1)}
          data-place={`${index}:${column + 1}`}
          data-fits={fits?.(row.place, column) !== false}
          aria-selected={isOpened && opened.kind === kind.id}
        >
          <Mark state={row.cells[column] ?? 'denied'} text={texts.states[row.cells[column] ?? 'denied']} />
        </td>
      ))}
    </tr>
  )
}

function placeOf(target: EventTarget | null): Place | undefined {
  const cell = (target as Element | null)?.closest<HTMLElement>('[data-place]')
  const [row, column] = cell?.dataset.place?.split(':').map(Number) ?? []
  return row === undefined || column === undefined ? undefined : { row, column }
}

/**
 * Scrolls no further than needed. The head of the table and its first column stay where they are, above and
 * before what is scrolled.
 */
function bringIntoSight(
  box: HTMLElement,
  head: HTMLTableSectionElement,
  { row, column }: Place,
  rowHeight: number,
): void {
  const room = box.clientHeight - head.offsetHeight
  const top = row * rowHeight
  if (top < box.scrollTop) box.scrollTop = top
  else if (top + rowHeight > box.scrollTop + room) box.scrollTop = top + rowHeight - room
  const [name, cell] = [head.rows[0]?.cells[0], head.rows[0]?.cells[column]]
  if (name === undefined || cell === undefined || column === 0) return
  const left = cell.offsetLeft - name.offsetWidth
  if (left < box.scrollLeft) box.scrollLeft = left
  else if (cell.offsetLeft + cell.offsetWidth > box.scrollLeft + box.clientWidth)
    box.scrollLeft = cell.offsetLeft + cell.offsetWidth - box.clientWidth
}
