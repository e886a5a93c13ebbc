/** The toolbar above the table: the search, the filters, and how many rows are left. */
import { useEffect, useState } from 'preact/hooks'
import type { Filters, Table } from '../model/table.ts'
import type { View } from '../model/view.ts'
import { texts } from '../texts/en/explorer.ts'
import { Icon } from './icons.tsx'
import { headline } from './parts.tsx'
import type { Go } from './use-view.ts'

interface ToolbarProps {
  readonly table: Table
  readonly shown: number
  /** The fault of the search, where it is meant as an expression. */
  readonly fault: string | undefined
  readonly view: View
  readonly go: Go
}

/**
 * In a matrix with many kinds, their titles would fill the page: the others are shown when they are asked
 * for.
 */
const KINDS_SHOWN_MAX = 6

export function Toolbar({ table, shown, fault, view, go }: ToolbarProps) {
  const [unfolded, setUnfolded] = useState(false)
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
          aria-invalid={fault !== undefined}
          aria-describedby={fault === undefined ? undefined : 'search-fault'}
          value={view.search}
          onInput={(event) => go({ search: event.currentTarget.value }, 'replace')}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown' || event.key === 'Enter') intoTable(event)
          }}
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
      <FilterButtons table={table} view={view} go={go} />
      {fault !== undefined && (
        <p class="query-fault" id="search-fault">
          {fault}
        </p>
      )}
      <output class="unseen">{count}</output>
    </search>
  )
}

/** Past the filters, to the cell that Tab would come to. */
function intoTable(event: KeyboardEvent): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('.grid [data-place][tabindex="0"]')?.focus({ preventScroll: true })
}

function FilterButtons({ table, view, go }: Omit<ToolbarProps, 'shown' | 'fault'>) {
  const [all, setAll] = useState(false)
  const kinds = all ? table.kinds : table.kinds.slice(0, KINDS_SHOWN_MAX)
  const filtered = view.search !== '' || view.kinds.length > 0 || view.header !== undefined || view.contested
  const toggle = (kind: string) =>
    view.kinds.includes(kind) ? view.kinds.filter((each) => each !== kind) : [...view.kinds, kind]
  return (
    <fieldset class="filters">
      <legend class="unseen">{texts.table.filters}</legend>
      {kinds.map((kind) => (
        <button
          type="button"
          class="chip"
          key={kind.id}
          aria-pressed={view.kinds.includes(kind.id)}
          onClick={() => go({ kinds: toggle(kind.id) })}
        >
          {headline(kind.title)}
        </button>
      ))}
      {table.kinds.length > KINDS_SHOWN_MAX && (
        <button type="button" class="chip" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? texts.table.fewerKinds : texts.table.moreKinds(table.kinds.length - KINDS_SHOWN_MAX)}
        </button>
      )}
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
  )
}

const NO_FILTERS: Filters = { search: '', kinds: [], header: undefined, contested: false }

const SAID_AFTER_MS = 400

/**
 * The text at first, and later changes when they have settled: a reader of the screen would else begin anew
 * with each key.
 */
function useSaidLater(text: string): string {
  const [said, say] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => say(text), SAID_AFTER_MS)
    return () => clearTimeout(timer)
  }, [text])
  return said
}
