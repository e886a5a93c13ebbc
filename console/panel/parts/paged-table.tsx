/**
 * A table of a long list: pages come from the sidecar as one scrolls, and only the rows in sight are drawn. One row is in the order of
 * the Tab key, and arrows move from it; Enter opens it, and Tab leads to the buttons in it.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { drawnRows, moved } from '../../model/moves.ts'
import { texts } from '../../texts/en/panel.ts'
import type { ApiError } from '../model/errors.ts'
import { messageOf } from '../model/messages.ts'
import { wantsMore } from '../model/paging.ts'
import type { Pages } from './use-pages.ts'

export interface Column<T> {
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  /** As CSS has it: `40%`, `12em`. */
  readonly width?: string
  /** Where there is less room, the column is left out. */
  readonly hiddenOn?: 'phone' | 'tablet'
  /** Buttons: the title is for those who do not see the column. */
  readonly actions?: boolean
}

interface PagedTableProps<T> {
  readonly label: string
  readonly pages: Pages<T>
  readonly columns: readonly Column<T>[]
  readonly keyOf: (row: T) => string
  /** Only these rows are shown. While somebody searches, all pages are loaded. */
  readonly filter?: ((row: T) => boolean) | undefined
  /** What Enter and a click on the row do. */
  readonly open?: (row: T) => void
  readonly isOpened?: (row: T) => boolean
  /** In place of an empty list. */
  readonly empty?: ComponentChildren
}

/** Height of a row, as the styles have it. */
const ROW_HEIGHT = 48

export function PagedTable<T>(props: PagedTableProps<T>) {
  const { label, pages, columns, keyOf, filter, open, isOpened, empty } = props
  const { paged, more, reload } = pages
  const rows = filter === undefined ? paged.rows : paged.rows.filter(filter)
  const { box, first, inSight, onScroll } = useSight()
  const { active, table, onKeyDown, setActive } = useRowMoves(rows, box, inSight, open)

  useEffect(() => {
    if (wantsMore({ ...paged, rows }, filter === undefined ? first + inSight : rows.length)) more()
  })
  const whole = paged.next === undefined
  return (
    <div class="list">
      <div class="list-scroll" ref={box} onScroll={onScroll}>
        <table
          ref={table}
          class="rows"
          aria-label={label}
          aria-rowcount={whole ? rows.length + 1 : -1}
          aria-busy={paged.loading}
          onKeyDown={onKeyDown}
        >
          <Head columns={columns} />
          <tbody>
            {drawnRows(rows.length, first, inSight, active).map((drawn) =>
              'skipped' in drawn ? (
                // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
                <tr aria-hidden="true" class="skipped" key={`skipped-before-${drawn.before}`}>
                  {/* No wider than one column: others may be hidden. */}
                  <td style={{ height: `${drawn.skipped * ROW_HEIGHT}px` }} />
                </tr>
              ) : (
                <TableRow
                  key={keyOf(rows[drawn.row] as T)}
                  index={drawn.row}
                  row={rows[drawn.row] as T}
                  columns={columns}
                  active={drawn.row === active}
                  opened={isOpened?.(rows[drawn.row] as T) ?? false}
                  select={setActive}
                  open={open}
                />
              ),
            )}
          </tbody>
        </table>
        <InsteadOfRows
          error={paged.error}
          retry={rows.length === 0 ? reload : more}
          empty={rows.length === 0 && whole && !paged.loading}
        >
          {filter === undefined ? (empty ?? texts.list.empty) : texts.list.searchNone}
        </InsteadOfRows>
      </div>
      <p class="list-foot" role="status">
        {paged.loading ? texts.list.loading : rows.length > 0 && texts.list.rows(rows.length, !whole)}
      </p>
    </div>
  )
}

interface InsteadOfRowsProps {
  readonly error: ApiError | undefined
  readonly retry: () => void
  readonly empty: boolean
  /** What is said of an empty list. */
  readonly children: ComponentChildren
}

function InsteadOfRows({ error, retry, empty, children }: InsteadOfRowsProps) {
  if (error !== undefined)
    return (
      <div class="nothing" role="alert">
        <p>
          <strong>{texts.list.failed}</strong> {messageOf(error)}
        </p>
        <button type="button" onClick={retry}>
          {texts.list.retry}
        </button>
      </div>
    )
  return empty ? <div class="nothing">{children}</div> : null
}

function Head<T>({ columns }: { readonly columns: readonly Column<T>[] }) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map(({ title, width, hiddenOn, actions }) => (
          <th key={title} scope="col" data-hidden-on={hiddenOn} style={width && { width }}>
            {actions ? <span class="unseen">{title}</span> : title}
          </th>
        ))}
      </tr>
    </thead>
  )
}

interface TableRowProps<T> {
  readonly index: number
  readonly row: T
  readonly columns: readonly Column<T>[]
  readonly active: boolean
  readonly opened: boolean
  readonly select: (index: number) => void
  readonly open: ((row: T) => void) | undefined
}

function TableRow<T>({ index, row, columns, active, opened, select, open }: TableRowProps<T>) {
  return (
    <tr
      aria-rowindex={index + 2}
      data-row={index}
      class={opened ? 'opened' : open && 'can-open'}
      tabIndex={active ? 0 : -1}
      onFocus={() => select(index)}
      onClick={(event) => {
        if (open && !(event.target as Element).closest('a, button, input, select, label')) open(row)
      }}
    >
      {columns.map(({ title, cell, hiddenOn, actions }) => (
        <td key={title} data-hidden-on={hiddenOn} class={actions ? 'row-actions' : undefined}>
          {cell(row)}
        </td>
      ))}
    </tr>
  )
}

/** The row with the focus, and what keys do with it. */
function useRowMoves<T>(
  rows: readonly T[],
  box: { readonly current: HTMLDivElement | null },
  inSight: number,
  open: ((row: T) => void) | undefined,
) {
  const [chosen, setActive] = useState(0)
  const table = useRef<HTMLTableElement>(null)
  const follow = useRef(false)
  const active = Math.min(chosen, Math.max(0, rows.length - 1))
  useLayoutEffect(() => {
    if (!follow.current) return
    follow.current = false
    table.current?.querySelector<HTMLElement>(`[data-row="${active}"]`)?.focus({ preventScroll: true })
  })
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.metaKey || !(event.target instanceof Element)) return
    const onRow = event.target.matches('[data-row]')
    if (event.key === 'Enter' && onRow && open !== undefined) {
      event.preventDefault()
      open(rows[active] as T)
      return
    }
    if (!onRow && !event.target.matches('button, a')) return
    const size = { rows: rows.length, columns: 1, page: Math.max(1, inSight - 1) }
    const isEnd = event.key === 'Home' || event.key === 'End'
    const next = moved({ row: active, column: 0 }, event.key, event.ctrlKey || isEnd, size)
    if (next === undefined || event.key.startsWith('ArrowL') || event.key.startsWith('ArrowR')) return
    event.preventDefault()
    if (box.current !== null) bringIntoSight(box.current, next.row)
    follow.current = true
    setActive(next.row)
  }
  return { active, table, onKeyDown, setActive }
}

function bringIntoSight(box: HTMLElement, row: number): void {
  const head = box.querySelector('thead')?.offsetHeight ?? 0
  const top = row * ROW_HEIGHT
  const room = box.clientHeight - head
  if (top < box.scrollTop) box.scrollTop = top
  else if (top + ROW_HEIGHT > box.scrollTop + room) box.scrollTop = top + ROW_HEIGHT - room
}

function useSight() {
  const box = useRef<HTMLDivElement>(null)
  const [height, setHeight] = useState(800)
  const [first, setFirst] = useState(0)
  useEffect(() => {
    const measured = box.current
    if (measured === null) return
    const observer = new ResizeObserver(() => setHeight(measured.clientHeight))
    observer.observe(measured)
    return () => observer.disconnect()
  }, [])
  return {
    ...{ box, first },
    inSight: Math.ceil(height / ROW_HEIGHT),
    onScroll: () => setFirst(Math.floor((box.current?.scrollTop ?? 0) / ROW_HEIGHT)),
  }
}
