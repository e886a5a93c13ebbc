/**
 * The dialog that takes a pasted table into the matrix. It comes when it is opened, because the readers of
 * documents are as large as the editor. The pasted text is shown as text alone.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { carriageOf, type Matrix, placesOf } from '../../../engine/index.ts'
import { compareMatrices } from '../../../matrix/compare.ts'
import type { CountedMark, MarkMeaning, Merged, Reading } from '../../../matrix/import/index.ts'
import type { MatrixProblem } from '../../../matrix/index.ts'
import { matrixText } from '../../../matrix/new-matrix.ts'
import { EMPTY_PASTE, type PasteDraft, type Pasted, readPasted } from '../../model/pasted.ts'
import { current, edited, idFrom, type Playground, type Source } from '../../model/playground.ts'
import { editorTexts } from '../../texts/en/editor.ts'
import { Result } from '../comparison.tsx'
import { SIDES } from './effects.tsx'
import { FormDialog, optionsOf, SelectField, TextField } from './fields.tsx'
import type { Apply } from './use-editing.ts'

const words = editorTexts.paste

/** Most rows that are shown. The others are counted. */
const ROWS_MAX = 100

export interface PasteFormProps {
  readonly playground: Playground | undefined
  readonly apply: Apply
  readonly begin: (source: Source) => readonly MatrixProblem[]
  readonly close: () => void
}

type Target = 'edited' | 'new'

export function PasteForm({ playground, apply, begin, close }: PasteFormProps) {
  const [draft, setDraft] = useState(EMPTY_PASTE)
  const [target, setTarget] = useState<Target>(playground === undefined ? 'new' : 'edited')
  const [title, setTitle] = useState('')
  const into = target === 'edited' && playground !== undefined ? current(playground).matrix : undefined
  const pasted = usePasted(draft, into, title)
  const set = (change: Partial<PasteDraft>) => setDraft({ ...draft, ...change })
  const submit = (): readonly MatrixProblem[] => {
    if (pasted?.type !== 'read') return [{ path: '', expected: refusalOf(pasted) }]
    const { matrix } = pasted.merged
    if (into !== undefined) return apply({ type: 'document', matrix })
    const name = `${idFrom(matrix.title, '-') || 'matrix'}.jsonc`
    return begin({ from: 'new', name, text: matrixText(matrix, 'jsonc') })
  }
  return (
    <FormDialog title={words.title} button={words.take} submit={submit} close={close} wide>
      <PastedText text={draft.text} change={(text) => set({ text, marks: {} })} />
      {playground && (
        <SelectField
          label={words.target}
          value={target}
          change={setTarget}
          options={optionsOf(words.targets)}
        />
      )}
      {target === 'new' && (
        <TextField label={editorTexts.form.titles.title} value={title} change={setTitle} />
      )}
      <Choices draft={draft} set={set} />
      <div class="pasted" aria-live="polite">
        {pasted?.type === 'refused' && <p class="problems">{words.refused(pasted.line, pasted.expected)}</p>}
        {pasted?.type === 'asks' && <p>{headlineOf(pasted.reading)}</p>}
      </div>
      {pasted !== undefined && pasted.type !== 'refused' && (
        <MarkQuestions
          asked={askedOf(pasted, draft)}
          marks={draft.marks}
          change={(marks) => set({ marks })}
        />
      )}
      {pasted?.type === 'read' && (
        <>
          <Understood {...pasted} />
          {playground && into && <Effects playground={playground} merged={pasted.merged} />}
        </>
      )}
    </FormDialog>
  )
}

/** @returns `undefined`: nothing is pasted, or it is still being read */
function usePasted(draft: PasteDraft, into: Matrix | undefined, title: string): Pasted | undefined {
  const [read, setRead] = useState<{ readonly of: readonly unknown[]; readonly pasted: Pasted } | undefined>()
  useEffect(() => {
    if (draft.text.trim() === '') return
    let isStale = false
    readPasted(draft, into, title.trim()).then((pasted) => {
      if (!isStale) setRead({ of: [draft, into, title], pasted })
    })
    return () => {
      isStale = true
    }
  }, [draft, into, title])
  const isCurrent = read?.of.every((each, index) => each === [draft, into, title][index])
  return isCurrent ? read?.pasted : undefined
}

function refusalOf(pasted: Pasted | undefined): string {
  if (pasted === undefined) return words.nothing
  if (pasted.type === 'refused') return words.refused(pasted.line, pasted.expected)
  return words.unknownMarks
}

interface PastedTextProps {
  readonly text: string
  readonly change: (text: string) => void
}

/** The field for the text. A table that the clipboard has as HTML keeps its headings and joined cells so. */
function PastedText({ text, change }: PastedTextProps) {
  const paste = (event: ClipboardEvent) => {
    const html = event.clipboardData?.getData('text/html') ?? ''
    if (!/<table[\s>]/i.test(html)) return
    event.preventDefault()
    change(html)
  }
  return (
    <div class="pasted-text" onPaste={paste}>
      <TextField label={words.text} value={text} change={change} hint={words.textHint} lines mono />
    </div>
  )
}

interface ChoicesProps {
  readonly draft: PasteDraft
  readonly set: (change: Partial<PasteDraft>) => void
}

/** How the text is read, where it is not found in it. */
function Choices({ draft, set }: ChoicesProps) {
  return (
    <details>
      <summary>{words.more}</summary>
      <TextField
        label={words.name}
        value={draft.name}
        change={(name) => set({ name })}
        hint={words.nameHint}
        optional
      />
      <SelectField
        label={words.format}
        value={draft.format}
        change={(format) => set({ format })}
        options={optionsOf(words.formats)}
      />
      <TextField
        label={words.table}
        value={draft.table}
        change={(table) => set({ table })}
        hint={words.tableHint}
        optional
      />
      <SelectField
        label={words.kinds}
        value={draft.kinds}
        change={(kinds) => set({ kinds })}
        options={optionsOf(words.sides)}
      />
      <TextField
        label={words.public}
        value={draft.public}
        change={(heading) => set({ public: heading })}
        optional
      />
      <TextField
        label={words.leaveOut}
        value={draft.leaveOut}
        change={(leaveOut) => set({ leaveOut })}
        lines
        optional
      />
    </details>
  )
}

/** Marks without a known meaning, and those that were explained here. */
function askedOf(pasted: Exclude<Pasted, { type: 'refused' }>, { marks }: PasteDraft): CountedMark[] {
  return pasted.reading.marks.filter(
    ({ mark, meaning }) => meaning === undefined || Object.hasOwn(marks, mark),
  )
}

interface MarkQuestionsProps {
  readonly asked: readonly CountedMark[]
  readonly marks: PasteDraft['marks']
  readonly change: (marks: PasteDraft['marks']) => void
}

/** A mark is never guessed. */
function MarkQuestions({ asked, marks, change }: MarkQuestionsProps) {
  if (asked.length === 0) return null
  return (
    <fieldset class="edit-field">
      <legend>{words.unknownMarks}</legend>
      {asked.slice(0, ROWS_MAX).map(({ mark, count, lines }) => (
        <SelectField<MarkMeaning | ''>
          key={mark}
          label={words.mark(mark, count, [...new Set(lines)].join(', '))}
          value={marks[mark] ?? ''}
          change={(meaning) => {
            const { [mark]: _, ...others } = marks
            change(meaning === '' ? others : { ...others, [mark]: meaning })
          }}
          options={optionsOf(words.meanings)}
        />
      ))}
    </fieldset>
  )
}

const headlineOf = ({ where, line, kindsAre, apis, kinds }: Reading): string =>
  words.found(where, line, apis.length, kinds.length, kindsAre)

interface UnderstoodProps {
  readonly reading: Reading
  readonly merged: Merged
}

function Understood({ reading, merged }: UnderstoodProps) {
  const { matrix, kinds, apis, assumed } = merged
  const rows = new Map(matrix.apis.map((api) => [api.id, api]))
  const kindRows = new Map(matrix.tokenKinds.map((kind) => [kind.id, kind]))
  return (
    <section class="pasted" aria-label={words.understood}>
      <h3>{words.understood}</h3>
      <p>{headlineOf(reading)}</p>
      <UnderstoodTable reading={reading} merged={merged} />
      <Listed title={words.kindsOf}>
        {kinds.map((id, index) => {
          const [row, heading] = [kindRows.get(id), reading.kinds[index]?.heading ?? id]
          const places = row === undefined ? '' : placesOf(row).map(carriageOf).join(', ')
          return words.kind(heading, id, places, assumed.includes(id))
        })}
      </Listed>
      <Listed title={words.notes}>
        {apis.flatMap((id) =>
          Object.entries(rows.get(id)?.notes ?? {}).map(([kind, text]) => `${id} × ${kind}: ${text}`),
        )}
      </Listed>
      <Listed title={words.repeated}>
        {reading.repeated.map(({ api, line }) => words.atLine(line, apis[api] as string))}
      </Listed>
      <Listed title={words.leftOut}>
        {reading.leftOut.map(({ line, what, why }) => words.atLine(line, `${what}: ${why}`))}
      </Listed>
    </section>
  )
}

function UnderstoodTable({ reading, merged: { matrix, kinds, apis } }: UnderstoodProps) {
  const rows = new Map(matrix.apis.map((api) => [api.id, api]))
  const shown = reading.apis.slice(0, ROWS_MAX)
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keys */}
      <section class="edit-scroll" aria-label={words.table} tabIndex={0}>
        <table class="edit-table">
          <thead>
            <tr>
              {[words.line, words.api, ...kinds].map((text) => (
                <th scope="col" key={text}>
                  {text}
                </th>
              ))}
              {reading.saysPublic && <th scope="col">{words.noToken}</th>}
            </tr>
          </thead>
          <tbody>
            {shown.map(({ line }, index) => {
              const row = rows.get(apis[index] as string)
              return (
                <tr key={line}>
                  <td>{line}</td>
                  <th scope="row">{row?.id}</th>
                  {kinds.map((kind) => (
                    <td key={kind}>{row?.accepts.includes(kind) ? '✓' : '–'}</td>
                  ))}
                  {reading.saysPublic && <td>{row?.public ? '✓' : '–'}</td>}
                </tr>
              )
            })}
          </tbody>
        </table>
      </section>
      {reading.apis.length > shown.length && (
        <p class="dim">{words.rest(reading.apis.length - shown.length)}</p>
      )}
    </>
  )
}

interface ListedProps {
  readonly title: string
  readonly children: readonly string[]
}

function Listed({ title, children }: ListedProps): ComponentChildren {
  if (children.length === 0) return null
  return (
    <>
      <h4>{title}</h4>
      <ul>
        {children.slice(0, ROWS_MAX).map((text, index) => (
          <li key={`${index}`}>{text}</li>
        ))}
      </ul>
      {children.length > ROWS_MAX && <p class="dim">{words.rest(children.length - ROWS_MAX)}</p>}
    </>
  )
}

interface EffectsProps {
  readonly playground: Playground
  readonly merged: Merged
}

/** The effect on the matrix that is edited, before anything is taken over. */
function Effects({ playground, merged: { matrix } }: EffectsProps) {
  const outcome = useMemo(() => edited(playground, [{ type: 'document', matrix }]), [playground, matrix])
  const before = current(playground).matrix
  const after = outcome.type === 'edited' ? current(outcome.playground) : undefined
  const comparison = useMemo(() => after && compareMatrices(before, after.matrix), [before, after])
  if (outcome.type === 'refused') return null
  if (after === undefined || comparison === undefined) return <p>{words.same}</p>
  return (
    <section class="result">
      <Result title={words.effects} words={SIDES} compared={{ before, after: after.matrix, comparison }} />
      {after.open.length > 0 && <p class="contested">{editorTexts.status.open(after.open.length)}</p>}
    </section>
  )
}
