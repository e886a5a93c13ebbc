/** Contradictions between the table and the prose: both sides, and who decides. */
import { useId, useState } from 'preact/hooks'
import type { Conflict, Matrix } from '../../../engine/index.ts'
import type { Resolution } from '../../../matrix/edits.ts'
import { leavesOut } from '../../../matrix/explain.ts'
import type { FindingCode } from '../../../matrix/index.ts'
import { editorTexts } from '../../texts/en/editor.ts'
import { texts } from '../../texts/en/explorer.ts'
import { Icon } from '../icons.tsx'
import { Choice, headline } from '../parts.tsx'
import type { Apply } from './use-editing.ts'

const words = editorTexts.conflicts

/** The linter's code of an unresolved contradiction. */
const CODE: FindingCode = 'undeclared-conflict'

interface ConflictsProps {
  readonly matrix: Matrix
  readonly open: readonly Conflict[]
  readonly apply: Apply
}

export function Conflicts({ matrix, open, apply }: ConflictsProps) {
  const listed = (conflicts: readonly Conflict[], isOpen: boolean) =>
    conflicts.map((conflict) => (
      <ConflictForm key={conflict.id} matrix={matrix} conflict={conflict} isOpen={isOpen} apply={apply} />
    ))
  return (
    <>
      {open.length > 0 && (
        <section id="contradictions">
          <h2>{words.title}</h2>
          <p class="dim">
            {words.about} <code>{CODE}</code>
          </p>
          {listed(open, true)}
        </section>
      )}
      {matrix.conflicts.length > 0 && (
        <details>
          <summary>
            {words.resolved}{' '}
            <span class="dim">({matrix.conflicts.length.toLocaleString(texts.language)})</span>
          </summary>
          <div class="result">{listed(matrix.conflicts, false)}</div>
        </details>
      )}
    </>
  )
}

interface ConflictFormProps extends Omit<ConflictsProps, 'open'> {
  readonly conflict: Conflict
  readonly isOpen: boolean
}

function ConflictForm({ matrix, conflict, isOpen, apply }: ConflictFormProps) {
  const id = useId()
  // The unsaved values. All else is of the matrix, so that Undo is seen here.
  const [draft, setDraft] = useState<Partial<Resolution>>({})
  const { resolution = '', reason = '' } = isOpen ? draft : { ...conflict, ...draft }
  const [fault, setFault] = useState('')
  const about = aboutOf(matrix, conflict)
  const submit = () => {
    if (resolution === '' || reason.trim() === '') return setFault(words.missing)
    const problems = apply({ type: 'resolve', conflict: conflict.id, resolution, reason })
    if (problems.length === 0) setDraft({})
    setFault(problems.map(({ expected }) => expected).join('; '))
  }
  return (
    <form
      class="conflict edit-form"
      data-contests={isOpen}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <h3>
        <Icon name="flag" /> {texts.cell.conflict[conflict.type]}: {about}
      </h3>
      <Sides matrix={matrix} conflict={conflict} />
      <Choice
        label={words.decides(about)}
        options={(['table', 'prose'] as const).map((value) => ({ value, text: words.who[value] }))}
        chosen={resolution}
        choose={(chosen) => chosen !== '' && setDraft({ ...draft, resolution: chosen })}
      />
      <label class="unseen" for={id}>
        {words.reason(about)}
      </label>
      <input
        id={id}
        type="text"
        placeholder={words.reasonPlaceholder}
        autocomplete="off"
        value={reason}
        onInput={(event) => setDraft({ ...draft, reason: event.currentTarget.value })}
      />
      {fault !== '' && <p role="alert">{fault}</p>}
      <button type="submit">{isOpen ? words.resolve : editorTexts.form.save}</button>
    </form>
  )
}

/** The cell, or what else it is about, in words. */
function aboutOf({ apis, tokenKinds }: Matrix, { cells, apis: some, kinds }: Conflict): string {
  const titleOf = (rows: readonly { readonly id: string; readonly title: string }[]) => (id: string) =>
    rows.find((row) => row.id === id)?.title ?? id
  const [apiOf, kindOf] = [titleOf(apis), titleOf(tokenKinds)]
  const about = cells.map(({ api, kind }) => `${apiOf(api)} × ${kindOf(kind)}`)
  return headline([...about, ...some.map(apiOf), ...kinds.map(kindOf)].join(', '))
}

function Sides({ matrix, conflict }: { readonly matrix: Matrix; readonly conflict: Conflict }) {
  return (
    <dl class="sayings">
      {conflict.cells.map(({ api, kind }) => {
        const row = matrix.apis.find(({ id }) => id === api)
        const title = matrix.tokenKinds.find(({ id }) => id === kind)?.title ?? kind
        return (
          <>
            <dt>
              {texts.cell.table} <span class="section">{row?.section}</span>
            </dt>
            <dd>{texts.cell.marks(row?.title ?? api, title, row?.accepts.includes(kind) === true)}</dd>
          </>
        )
      })}
      {matrix.statements
        .filter(({ id }) => conflict.statements.includes(id))
        .map(({ id, section, text, claim }) => (
          <>
            <dt key={id}>
              {texts.cell.prose} <span class="section">{section}</span>
            </dt>
            <dd>
              <q>{text}</q>
              {conflict.cells.some(({ api }) => leavesOut(claim, api)) && (
                <p class="silent">{texts.cell.silent}</p>
              )}
            </dd>
          </>
        ))}
    </dl>
  )
}
