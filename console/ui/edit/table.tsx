/** The table as buttons: a cell is exchanged, and a name opens what else there is to change of its row. */
import { useState } from 'preact/hooks'
import type { Api, Matrix, TokenKind } from '../../../engine/index.ts'
import { carriageOf } from '../../../engine/index.ts'
import type { EditedCell, EditedRow } from '../../model/edited-table.ts'
import { moved } from '../../model/moves.ts'
import { folded, hasWords, wordsOf } from '../../model/search.ts'
import { compareTexts } from '../../texts/en/compare.ts'
import { editorTexts } from '../../texts/en/editor.ts'
import { texts } from '../../texts/en/explorer.ts'
import { Icon } from '../icons.tsx'
import { headline } from '../parts.tsx'

const words = editorTexts.table

/** How many rows are drawn at first, and how many more when they are asked for. */
const SHOWN_FIRST = 100
const SHOWN_MORE = 400

/** From how many rows on there is a search. */
const SEARCHED_MIN = 12

interface TableProps {
  readonly matrix: Matrix
  readonly rows: readonly EditedRow[]
  readonly toggle: (cell: EditedCell) => void
  /** @param row `undefined`: a new one */
  readonly openApi: (row: Api | undefined) => void
  readonly openKind: (row: TokenKind | undefined) => void
}

export function EditTable({ matrix, rows, toggle, openApi, openKind }: TableProps) {
  const [search, setSearch] = useState('')
  const [shown, setShown] = useState(SHOWN_FIRST)
  const looked = wordsOf(search)
  const found = rows.filter(({ api }) => hasWords(folded(`${api.id} ${api.title}`), looked))
  return (
    <section class="edit-cells">
      <p class="dim">{words.hint}</p>
      {rows.length >= SEARCHED_MIN && (
        <label class="edit-search">
          <span class="unseen">{words.search}</span>
          <input
            type="search"
            placeholder={words.search}
            autocomplete="off"
            spellcheck={false}
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </label>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keys */}
      <section class="edit-scroll" aria-label={words.caption} tabIndex={0}>
        <table class="edit-table" onKeyDown={onKeyDown}>
          <Head kinds={matrix.tokenKinds} openKind={openKind} />
          <tbody>
            {found.slice(0, shown).map((row) => (
              <TableRow key={row.api.id} row={row} toggle={toggle} openApi={openApi} />
            ))}
          </tbody>
        </table>
      </section>
      {found.length === 0 && <p>{words.none}</p>}
      {found.length > shown && (
        <button type="button" onClick={() => setShown(shown + SHOWN_MORE)}>
          {compareTexts.showMore(Math.min(SHOWN_MORE, found.length - shown))}
        </button>
      )}
      <div class="edit-adds">
        <button type="button" onClick={() => openApi(undefined)}>
          <Icon name="plus" />
          {words.addApi}
        </button>
        <button type="button" onClick={() => openKind(undefined)}>
          <Icon name="plus" />
          {words.addKind}
        </button>
      </div>
    </section>
  )
}

function Head({ kinds, openKind }: Pick<TableProps, 'openKind'> & { readonly kinds: readonly TokenKind[] }) {
  return (
    <thead>
      <tr>
        <th scope="col">{texts.table.api}</th>
        {kinds.map((kind) => (
          <th scope="col" key={kind.id}>
            <button
              type="button"
              class="link"
              aria-label={words.change(headline(kind.title))}
              onClick={() => openKind(kind)}
            >
              {headline(kind.title)}
            </button>
            <span class="kind-header">{texts.table.inHeader(carriageOf(kind))}</span>
          </th>
        ))}
      </tr>
    </thead>
  )
}

interface RowProps extends Pick<TableProps, 'toggle' | 'openApi'> {
  readonly row: EditedRow
}

function TableRow({ row: { api, isNew, cells }, toggle, openApi }: RowProps) {
  return (
    <tr data-new={isNew}>
      <th scope="row">
        <button type="button" class="link" aria-label={words.change(api.title)} onClick={() => openApi(api)}>
          {api.title}
        </button>{' '}
        {api.id !== api.title && <code class="api-id">{api.id}</code>}
      </th>
      {cells.map((cell) => (
        <td key={cell.kind.id}>
          <button
            type="button"
            class="edit-cell"
            aria-pressed={cell.accepted}
            aria-label={words.cell(api.title, cell.kind.title, cell.conflict !== undefined)}
            title={cell.accepted ? words.accepted : words.rejected}
            data-changed={cell.changed}
            data-conflict={cell.conflict}
            onClick={() => toggle(cell)}
          >
            <Icon name={cell.accepted ? 'check' : 'dash'} />
            {cell.conflict && <Icon name="flag" />}
          </button>
        </td>
      ))}
    </tr>
  )
}

/** The arrows lead from cell to cell, beside Tab. */
function onKeyDown(event: KeyboardEvent & { readonly currentTarget: HTMLTableElement }): void {
  const cell = (event.target as Element).closest<HTMLTableCellElement>('tbody td')
  if (cell === null || !event.key.startsWith('Arrow')) return
  const { rows } = event.currentTarget.tBodies[0] as HTMLTableSectionElement
  const row = (cell.parentElement as HTMLTableRowElement).sectionRowIndex
  const size = { rows: rows.length, columns: rows[row]?.cells.length ?? 0, page: 1 }
  const next = moved({ row, column: cell.cellIndex }, event.key, false, size)
  if (next === undefined) return
  event.preventDefault()
  rows[next.row]?.cells[next.column]?.querySelector('button')?.focus()
}
