/**
 * Comparing with another matrix file: the cells that it opens, and then those that it closes. The file stays
 * in this page.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Engine, Matrix } from '../../engine/index.ts'
import type { CellChange, CellChangeType, Comparison, ListChange } from '../../matrix/compare.ts'
import { type Compared, comparedInSteps } from '../model/compare.ts'
import { texts } from '../texts/en/explorer.ts'
import { Icon, Mark } from './icons.tsx'
import { inSlices } from './in-slices.ts'
import type { PageProps } from './page.ts'
import { headline } from './parts.tsx'

/** What became of the file that was chosen. */
export type Chosen =
  | { readonly type: 'reading' }
  | { readonly type: 'matrix'; readonly name: string; readonly matrix: Matrix }
  | { readonly type: 'problem'; readonly message: string }

interface CompareProps extends PageProps {
  readonly chosen: Chosen | undefined
  readonly choose: (chosen: Chosen) => void
}

export function ComparePage({ engine, chosen, choose }: CompareProps) {
  const compared = useCompared(engine, chosen)
  const reading = useRef<AbortController | undefined>(undefined)
  const take = async (file: File | undefined) => {
    if (file === undefined) return
    reading.current?.abort()
    const stop = new AbortController()
    reading.current = stop
    choose({ type: 'reading' })
    const read = await readFile(file, stop.signal)
    if (!stop.signal.aborted) choose(read)
  }
  const over = useDrop(take)
  return (
    <div class="task">
      <h1>{texts.compare.title}</h1>
      <p>{texts.compare.about}</p>
      <div class="drop" data-over={over} data-chosen={chosen?.type === 'matrix'}>
        <Icon name="file" />
        <label class="button">
          {chosen?.type === 'matrix' ? texts.compare.another : texts.compare.choose}
          <input
            type="file"
            class="unseen"
            accept=".json,application/json"
            onChange={(event) => {
              void take(event.currentTarget.files?.[0])
              event.currentTarget.value = ''
            }}
          />
        </label>
        <span class="dim">{texts.compare.drop}</span>
        <p class="hint">{texts.compare.private}</p>
      </div>
      <output class="unseen">
        {chosen?.type === 'reading' ? texts.compare.reading : compared && summaryOf(compared.comparison)}
      </output>
      <div class="result">
        {(chosen?.type === 'reading' || (chosen?.type === 'matrix' && compared === undefined)) && (
          <p class="dim">{texts.compare.reading}</p>
        )}
        {chosen?.type === 'problem' && (
          <div role="alert">
            <h2>{texts.compare.notValid}</h2>
            <pre class="problems">{chosen.message}</pre>
          </div>
        )}
        {chosen?.type === 'matrix' && compared && (
          <Result name={chosen.name} compared={compared} isStale={compared.before !== engine} />
        )}
      </div>
    </div>
  )
}

/** The whole page takes a file: beside the field, a browser would open the file in the place of the page. */
function useDrop(take: (file: File | undefined) => void): boolean {
  const [over, setOver] = useState(false)
  useLayoutEffect(() => {
    const stop = new AbortController()
    const on = (type: 'dragover' | 'dragleave' | 'drop', listener: (event: DragEvent) => void) =>
      addEventListener(type, listener, { signal: stop.signal })
    on('dragover', (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      setOver(true)
    })
    on('dragleave', (event) => {
      if (event.relatedTarget === null) setOver(false)
    })
    on('drop', (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      setOver(false)
      take(event.dataTransfer.files[0])
    })
    return () => stop.abort()
  })
  return over
}

/** The reader of files comes with the first one: it is half as large as the page. */
async function readFile(file: File, stopped: AbortSignal): Promise<Chosen> {
  const { loadInSteps, MATRIX_BYTES_MAX } = await import('../../matrix/load.ts')
  if (file.size > MATRIX_BYTES_MAX) return { type: 'problem', message: texts.compare.tooLarge }
  try {
    const matrix = await inSlices(loadInSteps(new Uint8Array(await file.arrayBuffer())), stopped)
    return { type: 'matrix', name: file.name, matrix }
  } catch (error) {
    return { type: 'problem', message: error instanceof Error ? error.message : texts.compare.notValid }
  }
}

/** What comes of comparing. In another mode it is the last result, until there is a new one. */
function useCompared(engine: Engine, chosen: Chosen | undefined): Compared | undefined {
  const [compared, setCompared] = useState<Compared | undefined>(undefined)
  const matrix = chosen?.type === 'matrix' ? chosen.matrix : undefined
  useEffect(() => {
    if (matrix === undefined) return
    const stop = new AbortController()
    const compare = async () => {
      try {
        setCompared(await inSlices(comparedInSteps(engine, matrix), stop.signal))
      } catch (error) {
        if (!stop.signal.aborted) throw error
      }
    }
    void compare()
    return () => stop.abort()
  }, [engine, matrix])
  return compared?.matrix === matrix ? compared : undefined
}

interface ResultProps {
  readonly name: string
  readonly compared: Compared
  readonly isStale: boolean
}

const TYPES: readonly CellChangeType[] = ['opened', 'closed', 'reason', 'conflicts']

/**
 * How many changes of one type are shown at first, and how many more when they are asked for. A thousand rows
 * take a second to draw.
 */
const SHOWN_FIRST = 100
const SHOWN_MORE = 400

function summaryOf({ cells }: Comparison): string {
  const count = (type: CellChangeType) => cells.filter((cell) => cell.type === type).length
  return cells.length === 0 ? texts.compare.same : texts.compare.counts(count('opened'), count('closed'))
}

function Result({ name, compared: { before, after, comparison }, isStale }: ResultProps) {
  const { cells, apis, tokenKinds } = comparison
  const ofType = (type: CellChangeType) => cells.filter((cell) => cell.type === type)
  return (
    <div class="compared" data-stale={isStale} aria-busy={isStale}>
      <h2>{texts.compare.against(name)}</h2>
      <p>{summaryOf(comparison)}</p>
      {TYPES.map((type) => (
        <Changes key={type} type={type} changes={ofType(type)} before={before} after={after} />
      ))}
      <ListChanges title={texts.compare.kinds} change={tokenKinds} />
      <ListChanges title={texts.compare.apis} change={apis} />
    </div>
  )
}

interface ChangesProps {
  readonly type: CellChangeType
  readonly changes: readonly CellChange[]
  readonly before: Engine
  readonly after: Engine
}

function Changes({ type, changes, before, after }: ChangesProps) {
  const [shown, setShown] = useState(SHOWN_FIRST)
  if (changes.length === 0) return null
  const titleOf = (api: string) => (after.apis.get(api) ?? before.apis.get(api))?.title ?? api
  const kindOf = (kind: string) => (after.tokenKinds.get(kind) ?? before.tokenKinds.get(kind))?.title ?? kind
  return (
    <section class="changes" data-type={type}>
      <h3>
        {texts.compare.types[type]}{' '}
        <span class="number">{changes.length.toLocaleString(texts.language)}</span>
      </h3>
      {texts.compare.hints[type] && <p class="dim">{texts.compare.hints[type]}</p>}
      <table>
        <thead>
          <tr>
            <th scope="col">{texts.table.api}</th>
            <th scope="col">{texts.compare.kind}</th>
            <th scope="col">{texts.compare.now}</th>
            <th scope="col">{texts.compare.withFile}</th>
          </tr>
        </thead>
        <tbody>
          {changes.slice(0, shown).map((change) => (
            <tr key={`${change.api} ${change.kind}`}>
              <th scope="row">
                {titleOf(change.api)} <code>{change.api}</code>
              </th>
              <td>{headline(kindOf(change.kind))}</td>
              <Answer label={texts.compare.now} decision={change.before} />
              <Answer label={texts.compare.withFile} decision={change.after} />
            </tr>
          ))}
        </tbody>
      </table>
      {changes.length > shown && (
        <p>
          <button type="button" onClick={() => setShown(shown + SHOWN_MORE)}>
            {texts.compare.showMore(Math.min(SHOWN_MORE, changes.length - shown))}
          </button>{' '}
          <span class="dim">{texts.compare.more(changes.length - shown)}</span>
        </p>
      )}
    </section>
  )
}

interface AnswerProps {
  /** Of the column: a phone has no head of the table. */
  readonly label: string
  readonly decision: CellChange['before']
}

function Answer({ label, decision: { allowed, reason, conflicts } }: AnswerProps) {
  return (
    <td data-label={label}>
      <Mark
        state={allowed ? 'allowed' : reason === 'CONTESTED' ? 'denied-strict' : 'denied'}
        text={allowed ? texts.states.allowed : texts.states.denied}
      />
      {!allowed && <code class="reason">{reason}</code>}
      {conflicts.length > 0 && (
        <span class="contested">
          <Icon name="flag" />
          {conflicts.map(({ id }) => id).join(', ')}
        </span>
      )}
    </td>
  )
}

function ListChanges({ title, change }: { readonly title: string; readonly change: ListChange }) {
  const rows = (['added', 'removed', 'changed'] as const).filter((type) => change[type].length > 0)
  if (rows.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      <dl class="facts">
        {rows.map((type) => (
          <>
            <dt>{texts.compare[type]}</dt>
            <dd>
              {change[type].slice(0, SHOWN_FIRST).map((id) => (
                <code key={id}>{id}</code>
              ))}
              {change[type].length > SHOWN_FIRST && texts.compare.more(change[type].length - SHOWN_FIRST)}
            </dd>
          </>
        ))}
      </dl>
    </section>
  )
}
