/** The forms of an API, of a kind of token, of the title, and of a new matrix. */
import { useState } from 'preact/hooks'
import { type Api, carriageOf, type Matrix, placeFrom, type TokenKind } from '../../../engine/index.ts'
import type { MatrixEdit, MatrixPart } from '../../../matrix/edits.ts'
import type { MatrixProblem } from '../../../matrix/index.ts'
import { kindRow, NO_SECTION, newMatrixText } from '../../../matrix/new-matrix.ts'
import { idFrom, type Source } from '../../model/playground.ts'
import { editorTexts } from '../../texts/en/editor.ts'
import { ChecksField, FormDialog, optionsOf, placeInRow, SelectField, TextField } from './fields.tsx'
import type { Apply } from './use-editing.ts'

const words = editorTexts.form

interface RowFormProps<T> {
  readonly matrix: Matrix
  /** The row that is changed; `undefined`: a new one. */
  readonly row: T | undefined
  readonly apply: Apply
  readonly close: () => void
}

/** The edits that give a row these fields, and perhaps another id. */
export function changing<T extends { readonly id: string }>(
  part: MatrixPart,
  before: T | undefined,
  row: T,
): MatrixEdit[] {
  const made = { part, row } as unknown as Extract<MatrixEdit, { type: 'add' }>
  if (before === undefined) return [{ ...made, type: 'add' }]
  const renamed: MatrixEdit[] =
    row.id === before.id ? [] : [{ type: 'rename', part, id: before.id, to: row.id }]
  return [...renamed, { ...made, type: 'change' }]
}

/** A name, and the id that follows it until the user types another one. */
function useNamed(row: { readonly id: string; readonly title: string } | undefined, between: '-' | '_') {
  const [title, setTitle] = useState(row?.title ?? '')
  const [id, setId] = useState(row?.id)
  return { title, setTitle, id: id ?? idFrom(title, between), setId }
}

export const kindOptions = ({ tokenKinds }: Matrix) =>
  tokenKinds.map(({ id, title }) => ({ value: id, text: title }))

export function ApiForm({ matrix, row, apply, close }: RowFormProps<Api>) {
  const { title, setTitle, id, setId } = useNamed(row, '-')
  const [section, setSection] = useState(row?.section ?? matrix.apis.at(-1)?.section ?? NO_SECTION)
  const [accepts, setAccepts] = useState<readonly string[]>(row?.accepts ?? [])
  const [isPublic, setPublic] = useState<readonly string[]>(row?.public ? [PUBLIC] : [])
  const [notes, setNotes] = useState(() => notesText(row?.notes))
  const noted = notesFrom(notes)
  const more = { ...(isPublic.length > 0 && { public: true }), ...(noted && { notes: noted }) }
  return (
    <FormDialog
      title={row === undefined ? words.titles.addApi : row.title}
      button={row === undefined ? words.add : words.save}
      submit={() => apply(...changing('apis', row, { id, title, accepts, ...more, section }))}
      remove={row && (() => apply({ type: 'remove', part: 'apis', id: row.id }))}
      close={close}
    >
      <TextField label={words.name} value={title} change={setTitle} />
      <TextField label={words.id} value={id} change={setId} hint={words.idHint} mono />
      <TextField label={words.section} value={section} change={setSection} />
      <ChecksField label={words.accepts} value={accepts} change={setAccepts} options={kindOptions(matrix)} />
      <ChecksField label={words.open} value={isPublic} change={setPublic} options={PUBLIC_OPTIONS} />
      <TextField label={words.notes} value={notes} change={setNotes} hint={words.notesHint} lines optional />
    </FormDialog>
  )
}

const PUBLIC = 'public'
const PUBLIC_OPTIONS = [{ value: PUBLIC, text: words.public }]

function notesText(notes: Api['notes'] = {}): string {
  return Object.entries(notes)
    .map(([kind, note]) => `${kind}: ${note}`)
    .join('\n')
}

/** A line without a colon is a kind without a note, which the schema refuses. */
function notesFrom(text: string): Api['notes'] {
  const lines = linesOf(text).map((line) => /^([^\s:]*(?::[^\s:]+)*):?\s*(.*)$/.exec(line) ?? ['', line, ''])
  return lines.length === 0 ? undefined : Object.fromEntries(lines.map(([, kind, note]) => [kind, note]))
}

/** The fields of a kind as texts. */
function kindDraft(matrix: Matrix, row: TokenKind | undefined) {
  const {
    obtained,
    lifetimeSeconds,
    header = '',
    scheme,
    prefix,
    places = [],
    ...kind
  } = row ??
  kindRow('', { header: 'Authorization', section: matrix.tokenKinds.at(-1)?.section ?? NO_SECTION })
  return {
    ...{ ...kind, family: row?.family ?? '' },
    ...{ header, places: places.map(carriageOf).join('\n'), link: obtained.link ?? '' },
    ...{ scheme: scheme ?? (row === undefined ? 'Bearer' : ''), prefix: prefix ?? '' },
    ...{ by: obtained.by, steps: obtained.steps?.join('\n') ?? '' },
    lifetime: lifetimeSeconds === null ? '' : String(lifetimeSeconds),
  }
}

type KindDraft = ReturnType<typeof kindDraft>

function kindOf(draft: KindDraft, id: string, title: string): TokenKind {
  const { header, scheme, prefix, places, by, steps, link, lifetime, family, ...kind } = draft
  const lines = linesOf(steps)
  return {
    ...{ ...kind, id, title, family: family || id },
    ...(places.trim() === ''
      ? { header, ...(scheme !== '' && { scheme }), ...(prefix !== '' && { prefix }) }
      : // The schema refuses a header that is not one.
        { places: linesOf(places).map((line) => placeFrom(line) ?? { header: line }) }),
    obtained: { by, ...(lines.length > 0 && { steps: lines }), ...(link !== '' && { link }) },
    lifetimeSeconds: secondsOf(lifetime),
  }
}

/** A text that is not a number stays a text, which the schema refuses. */
function secondsOf(text: string): number | null {
  if (text.trim() === '') return null
  const seconds = Number(text)
  return Number.isFinite(seconds) ? seconds : (text as unknown as number)
}

const linesOf = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

export function KindForm({ matrix, row, apply, close }: RowFormProps<TokenKind>) {
  const { title, setTitle, id, setId } = useNamed(row, '_')
  const [draft, setDraft] = useState(() => kindDraft(matrix, row))
  const set = (change: Partial<KindDraft>) => setDraft({ ...draft, ...change })
  return (
    <FormDialog
      title={row === undefined ? words.titles.addKind : row.title}
      button={row === undefined ? words.add : words.save}
      submit={() => apply(...changing('tokenKinds', row, kindOf(draft, id, title)))}
      remove={row && (() => apply({ type: 'remove', part: 'tokenKinds', id: row.id }))}
      close={close}
    >
      <TextField label={words.name} value={title} change={setTitle} hint={words.kindHint} />
      <TextField label={words.id} value={id} change={setId} hint={words.idHint} mono />
      <Carriage draft={draft} set={set} />
      <TextField label={words.section} value={draft.section} change={(section) => set({ section })} />
      <details>
        <summary>{words.more}</summary>
        <MoreOfKind draft={draft} set={set} />
      </details>
    </FormDialog>
  )
}

interface CarriageDraft {
  readonly header: string
  readonly scheme: string
  readonly prefix: string
}

interface DraftProps<T> {
  readonly draft: T
  readonly set: (change: Partial<T>) => void
}

/** Where a kind travels. */
function Carriage({ draft, set }: DraftProps<CarriageDraft>) {
  return (
    <>
      <TextField label={words.header} value={draft.header} change={(header) => set({ header })} mono />
      <TextField
        label={words.scheme}
        value={draft.scheme}
        change={(scheme) => set({ scheme })}
        mono
        optional
      />
      <TextField
        label={words.prefix}
        value={draft.prefix}
        change={(prefix) => set({ prefix })}
        mono
        optional
      />
    </>
  )
}

function MoreOfKind({ draft, set }: DraftProps<KindDraft>) {
  return (
    <>
      <SelectField
        label={words.scopeLevel}
        value={draft.scopeLevel}
        change={(scopeLevel) => set({ scopeLevel })}
        options={optionsOf(words.scopeLevels)}
      />
      <TextField
        label={words.issuedTo}
        value={draft.issuedTo}
        change={(issuedTo) => set({ issuedTo })}
        mono
      />
      <SelectField
        label={words.obtained}
        value={draft.by}
        change={(by) => set({ by })}
        options={optionsOf(words.obtainedBy)}
      />
      <TextField label={words.steps} value={draft.steps} change={(steps) => set({ steps })} lines optional />
      <TextField label={words.link} value={draft.link} change={(link) => set({ link })} optional />
      <TextField
        label={words.places}
        value={draft.places}
        change={(places) => set({ places })}
        hint={words.placesHint}
        lines
        mono
        optional
      />
      <ChecksField
        label={words.permissions}
        value={draft.permissionScopes}
        change={(permissionScopes) => set({ permissionScopes })}
        options={optionsOf(words.permissionScopes)}
      />
      <TextField
        label={words.lifetime}
        value={draft.lifetime}
        change={(lifetime) => set({ lifetime })}
        hint={words.lifetimeHint}
      />
      <TextField
        label={words.family}
        value={draft.family}
        change={(family) => set({ family })}
        hint={words.familyHint}
        mono
        optional
      />
    </>
  )
}

export function TitleForm({ matrix, apply, close }: Omit<RowFormProps<never>, 'row'>) {
  const [title, setTitle] = useState(matrix.title)
  return (
    <FormDialog
      title={words.titles.title}
      button={words.save}
      submit={() => apply({ type: 'title', title })}
      close={close}
    >
      <TextField label={words.title} value={title} change={setTitle} />
    </FormDialog>
  )
}

/** The rows of a new matrix are lines of one field. */
function placeInNew(path: string, names: string): string {
  const index = /^apis\[(\d+)\]/.exec(path)?.[1]
  const lines = names.split('\n').map((name, at) => ({ number: at + 1, name: name.trim() }))
  const line = lines.filter(({ name }) => name !== '')[Number(index)]
  return line === undefined ? placeInRow(path) : `${words.line(line.number, line.name)} ${placeInRow(path)}`
}

interface NewFormProps {
  readonly begin: (source: Source) => readonly MatrixProblem[]
  readonly close: () => void
}

export function NewForm({ begin, close }: NewFormProps) {
  const [title, setTitle] = useState('')
  const kind = useNamed(undefined, '_')
  const [carriage, setCarriage] = useState<CarriageDraft>({
    ...{ header: 'Authorization', scheme: 'Bearer', prefix: '' },
  })
  const [names, setNames] = useState('')
  const source = (): Source => {
    const { header, scheme, prefix } = carriage
    const text = newMatrixText(
      {
        ...{ title, kind: kind.id, kindTitle: kind.title, header },
        ...{ scheme: scheme || undefined, prefix: prefix || undefined },
        // A name without Latin letters suggests no id.
        apis: linesOf(names).map((name, index) => ({
          id: idFrom(name, '-') || `api-${index + 1}`,
          title: name,
        })),
      },
      'jsonc',
      undefined,
    )
    return { from: 'new', name: `${idFrom(title, '-') || 'matrix'}.jsonc`, text }
  }
  return (
    <FormDialog
      title={words.titles.new}
      button={words.begin}
      submit={() => begin(source())}
      placeOf={(path) => placeInNew(path, names)}
      close={close}
    >
      <TextField label={words.title} value={title} change={setTitle} />
      <TextField label={words.firstKind} value={kind.title} change={kind.setTitle} hint={words.kindHint} />
      <TextField label={words.id} value={kind.id} change={kind.setId} hint={words.idHint} mono />
      <Carriage draft={carriage} set={(change) => setCarriage({ ...carriage, ...change })} />
      <TextField label={words.names} value={names} change={setNames} hint={words.namesHint} lines />
    </FormDialog>
  )
}
