/** Comparing with another matrix file: the cells that it opens, and then those that it closes. The file stays in this page. */
import { useMemo, useState } from 'preact/hooks'
import type { Engine, Matrix } from '../../engine/index.ts'
import {
  type CellChange,
  type CellChangeType,
  compareEngines,
  type ListChange,
} from '../../matrix/compare.ts'
import { rulesOf } from '../model/rules.ts'
import { texts } from '../texts/en.ts'
import { Icon, Mark } from './icons.tsx'
import type { PageProps } from './page.ts'

/** What became of the file that was chosen. */
export type Chosen =
  | { readonly type: 'reading' }
  | { readonly type: 'matrix'; readonly name: string; readonly matrix: Matrix }
  | { readonly type: 'problem'; readonly message: string }

interface CompareProps extends PageProps {
  readonly chosen: Chosen | undefined
  readonly choose: (chosen: Chosen) => void
}

export function ComparePage({ engine, mode, chosen, choose }: CompareProps) {
  const [over, setOver] = useState(false)
  const take = async (file: File | undefined) => {
    if (file === undefined) return
    choose({ type: 'reading' })
    choose(await readFile(file))
  }
  const onDrop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    void take(event.dataTransfer?.files[0])
  }
  return (
    <div class="task">
      <h1>{texts.compare.title}</h1>
      <p>{texts.compare.about}</p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the field inside does the same without a mouse */}
      <div
        class="drop"
        data-over={over}
        onDragOver={(event) => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
      >
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
      <div class="result" aria-live="polite">
        {chosen?.type === 'reading' && <p class="dim">{texts.compare.reading}</p>}
        {chosen?.type === 'problem' && (
          <div role="alert">
            <h2>{texts.compare.notValid}</h2>
            <pre class="problems">{chosen.message}</pre>
          </div>
        )}
        {chosen?.type === 'matrix' && <Result before={engine} chosen={chosen} mode={mode} />}
      </div>
    </div>
  )
}

/** The reader of files comes with the first one: it is half as large as the page. */
async function readFile(file: File): Promise<Chosen> {
  const { loadMatrix, MATRIX_BYTES_MAX } = await import('../../matrix/load.ts')
  if (file.size > MATRIX_BYTES_MAX) return { type: 'problem', message: texts.compare.tooLarge }
  try {
    const matrix = loadMatrix(new Uint8Array(await file.arrayBuffer()))
    return { type: 'matrix', name: file.name, matrix }
  } catch (error) {
    return { type: 'problem', message: error instanceof Error ? error.message : texts.compare.notValid }
  }
}

interface ResultProps extends Pick<PageProps, 'mode'> {
  readonly before: Engine
  readonly chosen: Extract<Chosen, { type: 'matrix' }>
}

const TYPES: readonly CellChangeType[] = ['opened', 'closed', 'reason', 'conflicts']

/** More of one type are counted. */
const SHOWN_MAX = 500

function Result({ before, chosen, mode }: ResultProps) {
  const after = useMemo(() => rulesOf(chosen.matrix, mode).engine(mode), [chosen, mode])
  const { cells, apis, tokenKinds } = useMemo(() => compareEngines(before, after), [before, after])
  return (
    <>
      <h2>{texts.compare.against(chosen.name)}</h2>
      {cells.length === 0 && <p>{texts.compare.same}</p>}
      {TYPES.map((type) => (
        <Changes
          key={type}
          type={type}
          changes={cells.filter((cell) => cell.type === type)}
          before={before}
          after={after}
        />
      ))}
      <ListChanges title={texts.compare.kinds} change={tokenKinds} />
      <ListChanges title={texts.compare.apis} change={apis} />
    </>
  )
}

interface ChangesProps {
  readonly type: CellChangeType
  readonly changes: readonly CellChange[]
  readonly before: Engine
  readonly after: Engine
}

function Changes({ type, changes, before, after }: ChangesProps) {
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
          {changes.slice(0, SHOWN_MAX).map((change) => (
            <tr key={`${change.api} ${change.kind}`}>
              <th scope="row">
                {titleOf(change.api)} <code>{change.api}</code>
              </th>
              <td>{kindOf(change.kind)}</td>
              <Answer decision={change.before} />
              <Answer decision={change.after} />
            </tr>
          ))}
        </tbody>
      </table>
      {changes.length > SHOWN_MAX && <p class="dim">{texts.compare.more(changes.length - SHOWN_MAX)}</p>}
    </section>
  )
}

function Answer({ decision: { allowed, reason, conflicts } }: { readonly decision: CellChange['before'] }) {
  return (
    <td>
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
              {change[type].slice(0, SHOWN_MAX).map((id) => (
                <code key={id}>{id}</code>
              ))}
              {change[type].length > SHOWN_MAX && texts.compare.more(change[type].length - SHOWN_MAX)}
            </dd>
          </>
        ))}
      </dl>
    </section>
  )
}
