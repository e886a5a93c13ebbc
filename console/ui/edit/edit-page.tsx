/**
 * Editing a matrix in the page: the table and the statements, and beside them what the edits open, close and
 * contradict. It is not sent anywhere.
 */
import type { ComponentType } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Api, Statement, TokenKind } from '../../../engine/index.ts'
import { editedRows } from '../../model/edited-table.ts'
import { current, type Playground } from '../../model/playground.ts'
import { editorTexts } from '../../texts/en/editor.ts'
import { texts } from '../../texts/en/explorer.ts'
import { type Compared, useCompared } from '../comparison.tsx'
import { Icon } from '../icons.tsx'
import { FileButton, useDrop } from '../matrix-file.tsx'
import { Effects, useAgainst } from './effects.tsx'
import type { PasteFormProps } from './paste-form.tsx'
import { ApiForm, KindForm, NewForm, TitleForm } from './row-forms.tsx'
import { StatementForm, Statements } from './statements.tsx'
import { countsOf } from './status.ts'
import { EditTable } from './table.tsx'
import { TakeAlong } from './take-along.tsx'
import { type Apply, type Editing, type EditorProps, useEditing } from './use-editing.ts'

/** Whether a sidecar served the page, and not a disk. The build settles it. */
declare const SERVED: boolean

/** The form that is open. A row that is `undefined` is a new one. */
type Opened =
  | { readonly form: 'api'; readonly row: Api | undefined }
  | { readonly form: 'kind'; readonly row: TokenKind | undefined }
  | { readonly form: 'statement'; readonly row: Statement | undefined }
  | { readonly form: 'title' }
  | { readonly form: 'new' }
  | { readonly form: 'paste' }

export function EditPage(props: EditorProps) {
  const { editing, rules } = props
  const actions = useEditing(props)
  const over = useDrop(actions.openFile)
  const [opened, open] = useState<Opened | undefined>(undefined)
  const playground = editing?.playground
  const against = useAgainst(playground, rules.matrix)
  const state = playground && current(playground)
  const compared = useCompared(against.before, state?.matrix)
  return (
    <div class="edit-page" data-over={over}>
      <h1 class="unseen">{editorTexts.title}</h1>
      <p class="edit-about dim">{editorTexts.about}</p>
      <Beginnings editing={editing} actions={actions} open={open} />
      <output class="unseen">{editing?.said}</output>
      <Bar editing={editing} compared={compared} undo={actions.undo} />
      {editing?.problem && (
        <pre class="problems" role="alert">
          {editing.problem}
        </pre>
      )}
      {editing === undefined && <p class="dim">{editorTexts.reading}</p>}
      {playground && (
        <div class="edit-columns">
          <Work playground={playground} before={against.before} apply={actions.exchange} open={open} />
          <aside class="edit-side result" aria-label={editorTexts.effects.title}>
            <Effects {...{ playground, against, compared }} apply={actions.apply} />
            <TakeAlong playground={playground} view={props.view} engine={props.engine} keep={actions.keep} />
          </aside>
        </div>
      )}
      {opened && <OpenedForm {...{ opened, playground, actions }} close={() => open(undefined)} />}
    </div>
  )
}

type Actions = ReturnType<typeof useEditing>

interface BeginningsProps {
  readonly editing: Editing | undefined
  readonly actions: Actions
  readonly open: (opened: Opened) => void
}

/** The edited matrix, and other beginnings. */
function Beginnings({ editing, actions, open }: BeginningsProps) {
  const playground = editing?.playground
  return (
    <div class="edit-actions">
      {playground && (
        <span class="edit-name">
          {editorTexts.from[playground.source.from]} <code>{playground.source.name}</code>
        </span>
      )}
      <button
        type="button"
        disabled={playground === undefined || playground.steps.length === 0}
        onClick={actions.startOver}
      >
        {editorTexts.startOver}
      </button>
      <FileButton label={editorTexts.open} take={actions.openFile} />
      <button type="button" onClick={() => open({ form: 'new' })}>
        <Icon name="plus" />
        {editorTexts.begin}
      </button>
      {SERVED && (
        <button type="button" onClick={() => open({ form: 'paste' })}>
          <Icon name="plus" />
          {editorTexts.paste.button}
        </button>
      )}
    </div>
  )
}

interface BarProps {
  readonly editing: Editing | undefined
  readonly compared: Compared | undefined
  readonly undo: () => void
}

/** The result of the edits, and the way back: in sight on every part of the page. */
function Bar({ editing, compared, undo }: BarProps) {
  const { playground, before } = editing ?? {}
  if (playground === undefined) return null
  const { open, findings } = current(playground)
  const { status } = editorTexts
  return (
    <div class="edit-bar">
      <p class="edit-status">
        <span>{compared && countsOf(compared.comparison)}</span>
        {open.length > 0 && (
          <button
            type="button"
            class="link contested"
            onClick={() => document.getElementById('contradictions')?.scrollIntoView()}
          >
            <Icon name="flag" />
            {status.open(open.length)}
          </button>
        )}
        {findings.length > 0 && <span class="dim">{status.findings(findings.length)}</span>}
      </p>
      <button type="button" disabled={playground.steps.length === 0 && before === undefined} onClick={undo}>
        {editorTexts.undo}
      </button>
    </div>
  )
}

interface WorkProps {
  readonly playground: Playground
  readonly before: Parameters<typeof editedRows>[1]
  readonly apply: Apply
  readonly open: (opened: Opened) => void
}

function Work({ playground, before, apply, open }: WorkProps) {
  const state = current(playground)
  const rows = useMemo(() => editedRows(state, before), [state, before])
  const { matrix } = state
  return (
    <div class="edit-work">
      <header>
        <h2>{matrix.title}</h2>
        <button type="button" class="quiet" onClick={() => open({ form: 'title' })}>
          {editorTexts.table.rename}
        </button>
      </header>
      <EditTable
        matrix={matrix}
        rows={rows}
        toggle={({ api, kind, accepted }) => {
          apply({ type: accepted ? 'reject' : 'accept', api: api.id, kind: kind.id })
        }}
        openApi={(row) => open({ form: 'api', row })}
        openKind={(row) => open({ form: 'kind', row })}
      />
      <Statements matrix={matrix} open={(row) => open({ form: 'statement', row })} />
    </div>
  )
}

interface OpenedFormProps {
  readonly opened: Opened
  readonly playground: Playground | undefined
  readonly actions: Actions
  readonly close: () => void
}

function OpenedForm({ opened, playground, actions, close }: OpenedFormProps) {
  if (opened.form === 'new') return <NewForm begin={actions.beginNew} close={close} />
  if (SERVED && opened.form === 'paste')
    return <LaterPasteForm {...{ playground, close }} apply={actions.apply} begin={actions.beginNew} />
  if (playground === undefined || opened.form === 'paste') return null
  const given = { matrix: current(playground).matrix, apply: actions.apply, close }
  if (opened.form === 'title') return <TitleForm {...given} />
  if (opened.form === 'api') return <ApiForm {...given} row={opened.row} />
  if (opened.form === 'kind') return <KindForm {...given} row={opened.row} />
  return <StatementForm {...given} row={opened.row} />
}

/** The readers of documents come when they are needed. They are large, so the one file has none. */
function LaterPasteForm(props: PasteFormProps) {
  const [Loaded, setLoaded] = useState<ComponentType<PasteFormProps> | undefined>(undefined)
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    if (!SERVED) return
    import('./paste-form.tsx').then(
      ({ PasteForm }) => setLoaded(() => PasteForm),
      () => setBroken(true),
    )
  }, [])
  if (Loaded !== undefined) return <Loaded {...props} />
  return isBroken ? <p role="alert">{texts.broken.title}</p> : null
}
