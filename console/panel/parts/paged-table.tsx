/**
 * A table of a long list: pages come from the sidecar as one scrolls, and only the rows in sight are drawn.
 * One row is in the order of the Tab key, and arrows move from it; Enter opens it, and Tab leads to the
 * buttons in it.
 */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { drawnRows } from '../../model/moves.ts'
import { texts } from '../../texts/en/panel.ts'
import type { ApiError } from '../model/errors.ts'
import { wantsMore } from '../model/paging.ts'
import { NotLoaded } from './loaded-view.tsx'
import { useRowMoves, useSight } from './rows.ts'
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
  /** Only these rows are shown. While the user searches, all pages are loaded. */
  readonly filter?: ((row: T) => boolean) | undefined
  /** The effect of Enter and of a click on the row. */
  readonly open?: (row: T) => void
  readonly isOpened?: (row: T) => boolean
  /** In place of an empty list. */
  readonly empty?: ComponentChildren
}

/** Height of a row, as the styles have it. */
const ROW_HEIGHT = 48

export function PagedTable<T>(props: PagedTableProps<T>) {
  const { label, pages, columns, filter, open, isOpened, empty } = props
  const { paged, keyOf, more, reload } = pages
  const rows = filter === undefined ? paged.rows : paged.rows.filter(filter)
  const { box, first, inSight, onScroll } = useSight(ROW_HEIGHT)
  const { active, table, onKeyDown, setActive } = useRowMoves(rows, box, {
    inSight,
    rowHeight: ROW_HEIGHT,
    open,
  })

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
        {paged.loading ? texts.loading : rows.length > 0 && texts.list.rows(rows.length, !whole)}
      </p>
    </div>
  )
}

interface InsteadOfRowsProps {
  readonly error: ApiError | undefined
  readonly retry: () => void
  readonly empty: boolean
  /** The text for an empty list. */
  readonly children: ComponentChildren
}

function InsteadOfRows({ error, retry, empty, children }: InsteadOfRowsProps) {
  if (error !== undefined) return <NotLoaded error={error} retry={retry} box="nothing" />
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
