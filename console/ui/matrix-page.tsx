/** The matrix: search and filters above the table, and beside it the panel of a cell or what is to say of the whole. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Filters, rowsFitting, type Table, tableOf } from '../model/table.ts'
import type { Opened, View } from '../model/view.ts'
import { texts } from '../texts/en.ts'
import { CellPanel } from './cell-panel.tsx'
import { Grid } from './grid.tsx'
import { Icon } from './icons.tsx'
import { Overview } from './overview.tsx'
import type { PageProps } from './page.ts'
import type { Go } from './use-view.ts'

export function MatrixPage(props: PageProps) {
  const { engine, view, go } = props
  const table = useMemo(() => tableOf(engine), [engine])
  const { search, kinds, header, contested } = view
  const rows = useMemo(
    () => rowsFitting(table, { search, kinds, header, contested }),
    [table, search, kinds, header, contested],
  )
  const [focusPanel, setFocusPanel] = useState(false)
  const before = useRef<Element | null>(null)
  const open = (opened: Opened, byKey: boolean) => {
    before.current = document.activeElement
    setFocusPanel(byKey)
    go({ opened })
  }
  const close = () => {
    go({ opened: undefined })
    const cell = before.current
    if (cell instanceof HTMLElement && cell.isConnected) cell.focus({ preventScroll: true })
  }

  return (
    <div class="matrix-page" data-panel={view.opened !== undefined}>
      <div class="table-side">
        <Toolbar table={table} shown={rows.length} view={view} go={go} />
        <Grid table={table} rows={rows} search={search} opened={view.opened} open={open} />
      </div>
      {view.opened ? (
        <CellPanel {...props} opened={view.opened} takeFocus={focusPanel} close={close} />
      ) : (
        <Overview {...props} table={table} />
      )}
    </div>
  )
}

interface ToolbarProps {
  readonly table: Table
  readonly shown: number
  readonly view: View
  readonly go: Go
}

/** In a matrix with many kinds, their titles would fill the page. */
const KINDS_SHOWN_MAX = 6

function Toolbar({ table, shown, view, go }: ToolbarProps) {
  const filtered = view.search !== '' || view.kinds.length > 0 || view.header !== undefined || view.contested
  const [unfolded, setUnfolded] = useState(false)
  const toggle = (kind: string) =>
    view.kinds.includes(kind) ? view.kinds.filter((each) => each !== kind) : [...view.kinds, kind]
  const count = useSaidLater(texts.table.shown(shown, table.rows.length))
  return (
    <search class="toolbar" data-unfolded={unfolded}>
      <label class="search">
        <Icon name="search" />
        <span class="unseen">{texts.table.searchHint}</span>
        <input
          type="search"
          id="search"
          placeholder={texts.table.search}
          autocomplete="off"
          spellcheck={false}
          value={view.search}
          onInput={(event) => go({ search: event.currentTarget.value }, 'replace')}
        />
        <kbd>/</kbd>
      </label>
      <button
        type="button"
        class="quiet unfold"
        aria-expanded={unfolded}
        onClick={() => setUnfolded(!unfolded)}
      >
        {texts.table.filters}
      </button>
      <fieldset class="filters">
        <legend class="unseen">{texts.table.filters}</legend>
        {table.kinds.slice(0, KINDS_SHOWN_MAX).map((kind) => (
          <button
            type="button"
            class="chip"
            key={kind.id}
            aria-pressed={view.kinds.includes(kind.id)}
            onClick={() => go({ kinds: toggle(kind.id) })}
          >
            {kind.title}
          </button>
        ))}
        {table.headers.length > 1 &&
          table.headers.map((header) => (
            <button
              type="button"
              class="chip mono"
              key={header}
              aria-pressed={view.header === header}
              onClick={() => go({ header: view.header === header ? undefined : header })}
            >
              {header}
            </button>
          ))}
        {table.contestedCount > 0 && (
          <button
            type="button"
            class="chip contested"
            aria-pressed={view.contested}
            onClick={() => go({ contested: !view.contested })}
          >
            <Icon name="flag" />
            {texts.table.contested}
          </button>
        )}
        {filtered && (
          <button type="button" class="quiet" onClick={() => go(NO_FILTERS)}>
            {texts.table.clear}
          </button>
        )}
      </fieldset>
      <output class="count">{count}</output>
    </search>
  )
}

const NO_FILTERS: Filters = { search: '', kinds: [], header: undefined, contested: false }

const SAID_AFTER_MS = 400

/** The text at first, and later changes when they have settled: a reader of the screen would else begin anew with each key. */
function useSaidLater(text: string): string {
  const [said, say] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => say(text), SAID_AFTER_MS)
    return () => clearTimeout(timer)
  }, [text])
  return said
}
