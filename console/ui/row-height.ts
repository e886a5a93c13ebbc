/** How high a row is, and which rows are in sight. A table that can be seen as a whole is made to fit. */
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** Heights in CSS pixels. A finger needs more than a mouse. */
const TOUCHED = 48
const LEAST = 24
const USUAL = 28
const MOST = 32

const FINGERS = '(pointer: coarse), (max-width: 640px)'

export function useRowHeight(count: number): {
  readonly box: RefObject<HTMLDivElement | null>
  readonly head: RefObject<HTMLTableSectionElement | null>
  readonly rowHeight: number
  readonly first: number
  readonly inSight: number
  /** Of the table, in CSS pixels. */
  readonly width: number
  readonly onScroll: () => void
} {
  const box = useRef<HTMLDivElement>(null)
  const head = useRef<HTMLTableSectionElement>(null)
  const [room, setRoom] = useState({ height: 800, width: 1000, touched: matchMedia(FINGERS).matches })
  const [scrolled, setScrolled] = useState(0)

  useEffect(() => {
    const measured = box.current
    if (measured === null) return
    const measure = () =>
      setRoom({
        height: measured.clientHeight - (head.current?.offsetHeight ?? 0),
        width: measured.clientWidth,
        touched: matchMedia(FINGERS).matches,
      })
    const observer = new ResizeObserver(measure)
    observer.observe(measured)
    measure()
    return () => observer.disconnect()
  }, [])

  const rowHeight = room.touched ? TOUCHED : fitting(room.height, count)
  return {
    ...{ box, head, rowHeight, width: room.width },
    first: Math.floor(scrolled / rowHeight),
    inSight: Math.ceil(room.height / rowHeight),
    // Drawn anew only when another row comes into sight.
    onScroll: () => setScrolled(Math.floor((box.current?.scrollTop ?? 0) / rowHeight) * rowHeight),
  }
}

function fitting(height: number, count: number): number {
  const each = Math.floor(height / Math.max(1, count))
  return each < LEAST ? USUAL : Math.min(each, MOST)
}
