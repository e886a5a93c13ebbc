/**
 * Decisions of the past: a form, and what the log of the host has. A link may say with which API, and which
 * difference of the shadow, to begin. Nothing that is typed is put into it, because that may be a token.
 */
import type { ComponentChildren } from 'preact'
import { useCallback, useId, useRef, useState } from 'preact/hooks'
import { texts } from '../../texts/en/operators.ts'
import { Icon } from '../../ui/icons.tsx'
import { Choice, Command } from '../../ui/parts.tsx'
import { useApi, useRoute } from '../context.tsx'
import { accountOf } from '../model/decisions.ts'
import { ANY, bodyOf, type FoundRow, type PastQuestion, RARE, REASONS } from '../model/past.ts'
import { DIFFERENCES } from '../model/rollout.ts'
import { DecisionDetails } from '../parts/decision-details.tsx'
import { Page } from '../parts/page.tsx'
import { PagedTable } from '../parts/paged-table.tsx'
import { Moment } from '../parts/time.tsx'
import { usePages } from '../parts/use-pages.ts'

const words = texts.decisions
const { past } = words

interface Row extends FoundRow {
  readonly key: string
}

/** The lines that the search met beside decisions. */
interface Met {
  readonly damaged: number
  readonly unreadable: readonly string[]
}

const NOTHING_MET: Met = { damaged: 0, unreadable: [] }

export function PastDecisions({ choice }: { readonly choice: ComponentChildren }) {
  const { api = '', shadow: given } = useRoute().given
  const shadow = DIFFERENCES.find((each) => each === given) ?? ''
  const [first] = useState<PastQuestion>({ ...ANY, api, shadow })
  const { pages, met, ask } = usePast(first)
  const [typed, type] = useState(first)
  const [opened, open] = useState<Row | undefined>(undefined)
  const only = (like: { readonly reason?: string; readonly api?: string }) => {
    const next = { ...typed, ...like }
    type(next)
    ask(next)
  }
  if (pages.paged.error?.reason === 'NOT_FOUND')
    return (
      <Page title={words.title} about={past.off}>
        {choice}
        <p>{past.offAbout}</p>
        <Command title={words.offTitle} text={words.offConfig} />
      </Page>
    )
  return (
    <Page filled title={words.title} about={past.about}>
      {choice}
      <Question
        typed={typed}
        change={(changed) => type((now) => ({ ...now, ...changed }))}
        // Another object is another search, also where it asks for the same.
        ask={() => ask({ ...typed })}
        clear={() => {
          type(ANY)
          ask({ ...ANY })
        }}
      />
      {met.damaged > 0 && <p class="hint">{past.damaged(met.damaged)}</p>}
      {met.unreadable.length > 0 && (
        <p class="problem" role="alert">
          {past.unreadable(met.unreadable)}
        </p>
      )}
      <PagedTable
        label={past.list}
        pages={pages}
        open={open}
        isOpened={({ key }) => key === opened?.key}
        empty={<p>{past.empty}</p>}
        columns={COLUMNS}
      />
      {opened !== undefined && (
        <DecisionDetails decision={opened.line} past={opened} only={only} close={() => open(undefined)} />
      )}
    </Page>
  )
}

/** The last question, and its results so far. */
function usePast(first: PastQuestion) {
  const { operator } = useApi()
  const [question, ask] = useState(first)
  const [met, setMet] = useState(NOTHING_MET)
  const rows = useRef(0)
  const fetchPage = useCallback(
    async (pageToken: string, _size: number, signal: AbortSignal) => {
      const part = await operator.pastDecisions(bodyOf(question, pageToken), signal)
      const before = (now: Met) => (pageToken === '' ? NOTHING_MET : now)
      if (!signal.aborted)
        setMet((now) => ({
          damaged: before(now).damaged + part.damaged,
          unreadable: [...before(now).unreadable, ...part.unreadable],
        }))
      // Lines can be equal.
      return {
        rows: part.rows.map((row) => ({ ...row, key: String(rows.current++) })),
        nextPageToken: part.nextPageToken,
      }
    },
    [operator, question],
  )
  const pages = usePages<Row>(fetchPage, ({ key }) => key)
  return { pages, met, ask }
}

const COLUMNS = [
  { title: words.time, cell: ({ line }: Row) => <Moment ms={Date.parse(line.time)} /> },
  { title: words.decision, cell: ({ line }: Row) => <Verdict row={line} /> },
  { title: words.api, cell: ({ line }: Row) => line.api },
  {
    title: past.user,
    cell: ({ line, userName }: Row) => userName ?? line.subject?.id ?? '',
    hiddenOn: 'phone',
  },
  { title: words.account, cell: ({ line }: Row) => accountOf(line), hiddenOn: 'tablet' },
  {
    title: past.client,
    cell: ({ line }: Row) => line.client_address ?? line.caller?.address ?? '',
    hiddenOn: 'tablet',
  },
] as const

function Verdict({ row: { allowed, reason } }: { readonly row: FoundRow['line'] }) {
  return (
    <span class="mark" data-allowed={allowed}>
      <Icon name={allowed ? 'check' : 'slash'} />
      <span class="unseen">{allowed ? words.allowed : words.denied} </span>
      {reason}
    </span>
  )
}

interface QuestionProps {
  readonly typed: PastQuestion
  readonly change: (changed: Partial<PastQuestion>) => void
  readonly ask: () => void
  readonly clear: () => void
}

function Question({ typed, change, ask, clear }: QuestionProps) {
  const [beginsOpen] = useState(typed.shadow !== '')
  const field = (name: keyof typeof past.fields) => (
    <Field key={name} name={name} value={typed[name]} change={(value) => change({ [name]: value })} />
  )
  return (
    <form
      class="filters past-question"
      aria-label={past.form}
      onSubmit={(event) => {
        event.preventDefault()
        ask()
      }}
    >
      {(['since', 'until', 'user', 'account', 'api'] as const).map(field)}
      <OneOf
        label={past.fields.reason}
        any={words.anyReason}
        options={REASONS.map((value) => ({ value, text: value }))}
        chosen={typed.reason}
        choose={(reason) => change({ reason })}
      />
      <Choice
        label={words.verdict}
        options={(['all', 'allowed', 'denied'] as const).map((value) => ({
          value,
          text: words.verdicts[value],
        }))}
        chosen={typed.verdict}
        choose={(chosen) => change({ verdict: chosen })}
      />
      <button type="submit" class="primary">
        {past.find}
      </button>
      <button type="button" class="quiet" onClick={clear}>
        {past.clear}
      </button>
      {typed.user.trim() !== '' && typed.account.trim() === '' && <p class="hint">{past.userHint}</p>}
      <details open={beginsOpen}>
        <summary>{past.more}</summary>
        <div class="filters">
          {RARE.map(field)}
          <OneOf
            label={past.shadow}
            any={past.anyShadow}
            options={DIFFERENCES.map((value) => ({ value, text: texts.matrix.groups.names[value] }))}
            chosen={typed.shadow}
            choose={(shadow) => change({ shadow })}
          />
        </div>
        <p class="hint">
          {past.zone(Intl.DateTimeFormat().resolvedOptions().timeZone)} {past.tokenHint}
        </p>
      </details>
    </form>
  )
}

interface OneOfProps<T extends string> {
  readonly label: string
  readonly any: string
  readonly options: readonly { readonly value: T; readonly text: string }[]
  readonly chosen: T | ''
  readonly choose: (chosen: T | '') => void
}

function OneOf<T extends string>({ label, any, options, chosen, choose }: OneOfProps<T>) {
  const id = useId()
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select id={id} value={chosen} onChange={({ currentTarget }) => choose(currentTarget.value as T | '')}>
        <option value="">{any}</option>
        {options.map(({ value, text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

interface FieldProps {
  readonly name: keyof typeof past.fields
  readonly value: string
  readonly change: (value: string) => void
}

function Field({ name, value, change }: FieldProps) {
  const id = useId()
  const type =
    name === 'token' ? 'password' : name === 'since' || name === 'until' ? 'datetime-local' : 'text'
  return (
    <div class="filter">
      <label for={id}>{past.fields[name]}</label>
      <input
        id={id}
        type={type as 'text'}
        value={value}
        maxLength={1_024}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
    </div>
  )
}
