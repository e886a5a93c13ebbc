/** The statements of the prose: the list of statements, and the form of one. */
import { useState } from 'preact/hooks'
import type { Claim, Matrix, Statement } from '../../../engine/index.ts'
import { NO_SECTION } from '../../../matrix/new-matrix.ts'
import { aboutOf, CLAIM_TYPES, type ClaimDraft, claimOf, draftOf, FORM_FIELDS } from '../../model/claim.ts'
import { idFrom } from '../../model/playground.ts'
import { editorTexts } from '../../texts/en/editor.ts'
import { ApiPicker } from '../api-picker.tsx'
import { Icon } from '../icons.tsx'
import { CheckField, ChecksField, FormDialog, optionsOf, SelectField, TextField } from './fields.tsx'
import { changing, kindOptions } from './row-forms.tsx'
import type { Apply } from './use-editing.ts'

const words = editorTexts.form

interface StatementsProps {
  readonly matrix: Matrix
  /** @param row `undefined`: a new one */
  readonly open: (row: Statement | undefined) => void
}

export function Statements({ matrix, open }: StatementsProps) {
  const { title, about, none, add, change } = editorTexts.statements
  return (
    <section class="statements">
      <h2>{title}</h2>
      <p class="dim">{matrix.statements.length === 0 ? none : about}</p>
      <ul>
        {matrix.statements.map((statement) => (
          <li key={statement.id}>
            <p>
              <span class="section">{statement.section}</span> <q>{statement.text}</q>
            </p>
            <p class="dim">{saysOf(matrix, statement.claim)}</p>
            <button type="button" class="link" onClick={() => open(statement)}>
              {change(statement.id)}
            </button>
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => open(undefined)}>
        <Icon name="plus" />
        {add}
      </button>
    </section>
  )
}

/** A claim in short: what it is about, and its type. */
function saysOf({ apis, tokenKinds }: Matrix, claim: Claim): string {
  const titleOf = (id: string) => [...tokenKinds, ...apis].find((row) => row.id === id)?.title ?? id
  return `${editorTexts.claims[claim.type]}: ${aboutOf(claim).map(titleOf).join(', ')}`
}

interface StatementFormProps {
  readonly matrix: Matrix
  readonly row: Statement | undefined
  readonly apply: Apply
  readonly close: () => void
}

export function StatementForm({ matrix, row, apply, close }: StatementFormProps) {
  const [text, setText] = useState(row?.text ?? '')
  const [id, setId] = useState(row?.id)
  const [section, setSection] = useState(row?.section ?? matrix.statements.at(-1)?.section ?? NO_SECTION)
  const [draft, setDraft] = useState(() => draftOf(matrix, row?.claim))
  const suggested = id ?? idFrom(text.split(/\s+/).slice(0, ID_WORDS).join(' '), '-')
  return (
    <FormDialog
      title={row === undefined ? words.titles.addStatement : editorTexts.statements.change(row.id)}
      button={row === undefined ? words.add : words.save}
      submit={() =>
        apply(...changing('statements', row, { id: suggested, section, text, claim: claimOf(draft) }))
      }
      remove={row && (() => apply({ type: 'remove', part: 'statements', id: row.id }))}
      close={close}
    >
      <TextField label={words.words} value={text} change={setText} lines />
      <SelectField
        label={words.claim}
        value={draft.type}
        change={(type) => setDraft({ ...draft, type })}
        options={CLAIM_TYPES.map((value) => ({ value, text: editorTexts.claims[value] }))}
      />
      {FORM_FIELDS[draft.type].map((field) => (
        <ClaimPart
          key={field}
          field={field}
          matrix={matrix}
          draft={draft}
          set={(change) => setDraft({ ...draft, ...change })}
        />
      ))}
      <TextField label={words.section} value={section} change={setSection} />
      <TextField label={words.id} value={suggested} change={setId} hint={words.idHint} mono />
    </FormDialog>
  )
}

/** How many words of a statement make the id that is suggested. */
const ID_WORDS = 5

interface ClaimPartProps {
  readonly field: keyof ClaimDraft
  readonly matrix: Matrix
  readonly draft: ClaimDraft
  readonly set: (change: Partial<ClaimDraft>) => void
}

function ClaimPart({ field, matrix, draft, set }: ClaimPartProps) {
  const kinds = kindOptions(matrix)
  switch (field) {
    case 'kind':
      return (
        <SelectField label={words.kind} value={draft.kind} change={(kind) => set({ kind })} options={kinds} />
      )
    case 'kinds':
    case 'accepts':
      return (
        <ChecksField
          label={field === 'kinds' ? words.kinds : words.accepts}
          value={draft[field]}
          change={(value) => set({ [field]: value })}
          options={kinds}
        />
      )
    case 'api':
      return <PickedApi matrix={matrix} picked={draft.api} pick={(api) => set({ api })} />
    case 'apis':
      return <PickedApis matrix={matrix} apis={draft.apis} change={(apis) => set({ apis })} />
    case 'complete':
    case 'exclusive':
      return (
        <CheckField label={words[field]} value={draft[field]} change={(value) => set({ [field]: value })} />
      )
    case 'scopeLevel':
      return (
        <SelectField
          label={words.scopeLevel}
          value={draft.scopeLevel}
          change={(scopeLevel) => set({ scopeLevel })}
          options={optionsOf(words.scopeLevels)}
        />
      )
    case 'holder':
      return <TextField label={words.holder} value={draft.holder} change={(holder) => set({ holder })} mono />
    default:
      return <TextField label={words.advice} value={draft.text} change={(text) => set({ text })} />
  }
}

const offeringOf = ({ apis }: Matrix) => ({ apis: new Map(apis.map((api) => [api.id, api])) })

interface PickedApiProps {
  readonly matrix: Matrix
  readonly picked: string
  readonly pick: (api: string) => void
}

function PickedApi({ matrix, picked, pick }: PickedApiProps) {
  return <ApiPicker engine={offeringOf(matrix)} label={words.api} picked={picked} pick={pick} />
}

interface PickedApisProps {
  readonly matrix: Matrix
  readonly apis: readonly string[]
  readonly change: (apis: readonly string[]) => void
}

function PickedApis({ matrix, apis, change }: PickedApisProps) {
  const offering = offeringOf(matrix)
  const titleOf = (id: string) => offering.apis.get(id)?.title ?? id
  return (
    <div class="edit-field">
      <ApiPicker
        engine={offering}
        label={words.addApi}
        without={apis}
        pick={(api) => change([...apis, api])}
      />
      {apis.length > 0 && (
        <ul class="chosen" aria-label={words.apis}>
          {apis.map((api) => (
            <li key={api}>
              {titleOf(api)}
              <button
                type="button"
                class="quiet"
                aria-label={words.removeApi(titleOf(api))}
                onClick={() => change(apis.filter((each) => each !== api))}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
