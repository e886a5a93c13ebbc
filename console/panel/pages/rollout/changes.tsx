/** A table of decisions that would differ, in the form in which the explorer shows cells. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { texts } from '../../../texts/en/operators.ts'

const words = texts.matrix.groups

/** How many rows are shown at first, and how many more when they are asked for. */
const ROWS_FIRST = 50
const ROWS_MORE = 200

/** The title of a column, and its width as CSS has it. */
export type Column = readonly [title: string, width?: string]

interface ChangesProps<T> {
  readonly type: string
  readonly title: string
  readonly count: number
  readonly about?: string
  readonly columns: readonly Column[]
  readonly rows: readonly T[]
  readonly children: (row: T) => ComponentChildren
}

export function Changes<T>({ type, title, count, about, columns, rows, children }: ChangesProps<T>) {
  const [shown, setShown] = useState(ROWS_FIRST)
  const more = Math.min(ROWS_MORE, rows.length - shown)
  return (
    <section class="changes" data-type={type}>
      <h3>
        {title} <span class="number">{count.toLocaleString('en')}</span>
      </h3>
      {about && <p class="dim">{about}</p>}
      <table aria-label={title}>
        <thead>
          <tr>
            {columns.map(([column, width]) => (
              <th key={column} scope="col" style={width && { width }}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{rows.slice(0, shown).map(children)}</tbody>
      </table>
      {more > 0 && (
        <p>
          <button type="button" onClick={() => setShown(shown + more)}>
            {words.showMore(more)}
          </button>
        </p>
      )}
    </section>
  )
}
