/**
 * The table of the live tail. Only the rows in sight are drawn. It stands still as soon as the user reads in
 * it: at a scroll, and when a row gets the focus.
 */
import { useEffect } from 'preact/hooks'
import { drawnRows } from '../../model/moves.ts'
import { texts } from '../../texts/en/operators.ts'
import { Icon } from '../../ui/icons.tsx'
import { accountOf, callerOf, timeOf } from '../model/decisions.ts'
import type { Decision, Entry } from '../model/tail.ts'
import { useRowMoves, useSight } from './rows.ts'

const words = texts.decisions

interface TailTableProps {
  /** The newest first. */
  readonly entries: readonly Entry[]
  readonly paused: boolean
  readonly pause: () => void
  readonly open: (decision: Decision) => void
  /** In place of an empty table. */
  readonly empty: string
}

/** As the styles have it. */
const ROW_HEIGHT = 32

const TITLES = [words.time, words.decision, words.api, words.kind, words.account, words.caller]

export function TailTable({ entries, paused, pause, open, empty }: TailTableProps) {
  const { box, first, inSight, onScroll } = useSight(ROW_HEIGHT)
  useEffect(() => {
    // The newest are on top.
    if (!paused && box.current !== null) box.current.scrollTop = 0
  }, [paused, box])
  const openRow = (entry: Entry) => {
    pause()
    if ('decision' in entry) open(entry.decision)
  }
  const { active, table, onKeyDown, setActive } = useRowMoves(entries, box, {
    inSight,
    rowHeight: ROW_HEIGHT,
    open: openRow,
  })
  return (
    <div
      class="list-scroll"
      ref={box}
      onScroll={() => {
        if ((box.current?.scrollTop ?? 0) > 0) pause()
        onScroll()
      }}
    >
      <table
        ref={table}
        class="rows"
        aria-label={words.list}
        aria-live="off"
        aria-rowcount={entries.length + 1}
        onKeyDown={onKeyDown}
      >
        <thead>
          <tr aria-rowindex={1}>
            {TITLES.map((title) => (
              <th key={title} scope="col" data-hidden-on={HIDDEN_ON[title]}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {drawnRows(entries.length, first, inSight, active).map((drawn) =>
            'skipped' in drawn ? (
              // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
              <tr aria-hidden="true" class="skipped" key={`skipped-before-${drawn.before}`}>
                <td colSpan={TITLES.length} style={{ height: `${drawn.skipped * ROW_HEIGHT}px` }} />
              </tr>
            ) : (
              <Row
                // A row is a place: while entries come its texts change, and no element is made or moved.
                key={`place-${drawn.row}`}
                index={drawn.row}
                entry={entries[drawn.row] as Entry}
                active={drawn.row === active}
                select={(row) => {
                  setActive(row)
                  pause()
                }}
                open={openRow}
              />
            ),
          )}
        </tbody>
      </table>
      {entries.length === 0 && <div class="nothing">{empty}</div>}
    </div>
  )
}

const HIDDEN_ON: Readonly<Record<string, string>> = {
  [words.kind]: 'tablet',
  [words.account]: 'phone',
  [words.caller]: 'phone',
}

interface RowProps {
  readonly index: number
  readonly entry: Entry
  readonly active: boolean
  readonly select: (row: number) => void
  readonly open: (entry: Entry) => void
}

function Row({ index, entry, active, select, open }: RowProps) {
  const common = {
    'aria-rowindex': index + 2,
    'data-row': index,
    tabIndex: active ? 0 : -1,
    onFocus: () => select(index),
  }
  if ('missed' in entry)
    return (
      <tr {...common} class="missed">
        <td colSpan={TITLES.length}>{words.missed(entry.missed)}</td>
      </tr>
    )
  const { decision } = entry
  const { allowed, reason, api, kind } = decision
  return (
    <tr {...common} class="can-open" data-allowed={allowed} onClick={() => open(entry)}>
      <td class="mono">{timeOf(decision)}</td>
      <td>
        <span class="mark">
          <Icon name={allowed ? 'check' : 'slash'} />
          <span class="unseen">{allowed ? words.allowed : words.denied} </span>
          {reason}
        </span>
      </td>
      <td>{api}</td>
      <td data-hidden-on="tablet">{kind}</td>
      <td data-hidden-on="phone">{accountOf(decision)}</td>
      <td data-hidden-on="phone">{callerOf(decision)}</td>
    </tr>
  )
}
