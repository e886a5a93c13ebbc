/**
 * The common part of long lists: the rows in sight, and the row with the focus. Each row has the same height.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { moved } from '../../model/moves.ts'

interface RowMoves<T> {
  readonly inSight: number
  /** As the styles have it, in pixels. */
  readonly rowHeight: number
  /** The effect of Enter. */
  readonly open: ((row: T) => void) | undefined
}

/** The row with the focus, and what keys do with it. */
export function useRowMoves<T>(
  rows: readonly T[],
  box: { readonly current: HTMLDivElement | null },
  { inSight, rowHeight, open }: RowMoves<T>,
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
    if (box.current !== null) bringIntoSight(box.current, next.row, rowHeight)
    follow.current = true
    setActive(next.row)
  }
  return { active, table, onKeyDown, setActive }
}

function bringIntoSight(box: HTMLElement, row: number, rowHeight: number): void {
  const head = box.querySelector('thead')?.offsetHeight ?? 0
  const top = row * rowHeight
  const room = box.clientHeight - head
  if (top < box.scrollTop) box.scrollTop = top
  else if (top + rowHeight > box.scrollTop + room) box.scrollTop = top + rowHeight - room
}

/** The rows in sight. @param rowHeight as the styles have it, in pixels */
export function useSight(rowHeight: number) {
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
    inSight: Math.ceil(height / rowHeight),
    onScroll: () => setFirst(Math.floor((box.current?.scrollTop ?? 0) / rowHeight)),
  }
}
