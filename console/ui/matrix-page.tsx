/**
 * The matrix: search and filters above the table, and beside it the panel of a cell or the summary of the
 * whole.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Matrix } from '../../engine/index.ts'
import type { queryReader, Read } from '../model/query.ts'
import { looksLikeQuery } from '../model/search.ts'
import { rowsFitting, tableOf } from '../model/table.ts'
import type { Opened } from '../model/view.ts'
import { texts } from '../texts/en/explorer.ts'
import { CellPanel } from './cell-panel.tsx'
import { Grid } from './grid.tsx'
import { Overview } from './overview.tsx'
import type { PageProps } from './page.ts'
import { Toolbar } from './toolbar.tsx'

const WORDS: Read = { type: 'words' }

export function MatrixPage(props: PageProps) {
  const { engine, rules, view, go } = props
  const table = useMemo(() => tableOf(engine), [engine])
  const { search, kinds, header, contested } = view
  const query = useQuery(rules.matrix, search)
  const fits = query.type === 'cells' ? query.fits : undefined
  const words = query.type === 'words' ? search : ''
  const rows = useMemo(
    () => rowsFitting(table, { search: words, kinds, header, contested }, fits),
    [table, words, kinds, header, contested, fits],
  )
  // Not drawn again with each letter of a search.
  const overview = useMemo(
    () => <Overview rules={rules} engine={engine} go={go} table={table} />,
    [rules, engine, go, table],
  )
  const [focusPanel, setFocusPanel] = useState(false)
  const before = useRef<Element | null>(null)
  const open = (opened: Opened, byKey: boolean) => {
    before.current = document.activeElement
    setFocusPanel(byKey)
    // The way back leads out of the panel, and not through all cells that were looked at.
    go({ opened }, view.opened === undefined ? 'push' : 'replace')
  }
  const close = () => {
    go({ opened: undefined })
    const cell = before.current
    if (cell instanceof HTMLElement && cell.isConnected) cell.focus({ preventScroll: true })
  }

  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isElsewhere = event.defaultPrevented || document.querySelector('dialog[open]') !== null
      if (event.key === 'Escape' && view.opened !== undefined && !isElsewhere) close()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })

  return (
    <div class="matrix-page" data-panel={view.opened !== undefined} style={{ '--kinds': table.kinds.length }}>
      <h1 class="unseen">{texts.table.caption}</h1>
      <div class="table-side">
        <Toolbar
          table={table}
          shown={rows.length}
          fault={query.type === 'fault' ? query.message : undefined}
          view={view}
          go={go}
        />
        <Grid
          table={table}
          rows={rows}
          search={words}
          fits={fits}
          filters={JSON.stringify([search, kinds, header, contested])}
          opened={view.opened}
          open={open}
        />
      </div>
      {view.opened ? (
        <CellPanel {...props} opened={view.opened} takeFocus={focusPanel} close={close} />
      ) : (
        overview
      )}
    </div>
  )
}

/** A search that may be an expression. Until the reader of expressions is there, it is one of words. */
function useQuery(matrix: Matrix, search: string): Read {
  const [makeReader, setMakeReader] = useState<typeof queryReader | undefined>(undefined)
  const asked = looksLikeQuery(search)
  useEffect(() => {
    if (!asked || makeReader !== undefined) return
    import('../model/query.ts').then(
      ({ queryReader }) => setMakeReader(() => queryReader),
      // Words still work, and the next expression tries again.
      () => {},
    )
  }, [asked, makeReader])
  const read = useMemo(() => (asked ? makeReader?.(matrix) : undefined), [asked, makeReader, matrix])
  return useMemo(() => read?.(search) ?? WORDS, [read, search])
}
