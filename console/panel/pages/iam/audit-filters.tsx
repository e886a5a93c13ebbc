/** The filters of the audit trail. They are in the link, and nothing is asked while the user types. */
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { type AuditFilters, FILTERS, isFiltered } from '../../model/audit.ts'

const { audit: words } = texts

const TYPING_MS = 300

interface FieldsProps {
  readonly filters: AuditFilters
  readonly change: (change: Readonly<Record<string, string | undefined>>) => void
}

export function AuditFilterFields({ filters, change }: FieldsProps) {
  // Another number draws the fields anew, so that what was just typed into one of them is not sent after all.
  const [cleared, setCleared] = useState(0)
  return (
    <form class="filters" aria-label={words.find} onSubmit={(event) => event.preventDefault()}>
      {FILTERS.map((name) => (
        <FilterField key={`${name} ${cleared}`} name={name} value={filters[name]} change={change} />
      ))}
      {isFiltered(filters) && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            setCleared(cleared + 1)
            change(Object.fromEntries(FILTERS.map((name) => [name, undefined])))
          }}
        >
          {words.clear}
        </button>
      )}
    </form>
  )
}

interface FieldProps {
  readonly name: (typeof FILTERS)[number]
  /** As the link has it. */
  readonly value: string
  readonly change: FieldsProps['change']
}

function FilterField({ name, value, change }: FieldProps) {
  const id = useId()
  const [typed, setTyped] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useLayoutEffect(() => setTyped(value), [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const latest = useRef(change)
  latest.current = change
  const send = (text: string, ms: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => latest.current({ [name]: text === '' ? undefined : text }), ms)
  }
  const isDay = name === 'from' || name === 'to'
  return (
    <div class="filter">
      <label for={id}>{words[name]}</label>
      <input
        id={id}
        type={(isDay ? 'date' : 'text') as 'text'}
        value={typed}
        maxLength={500}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={(event) => {
          setTyped(event.currentTarget.value)
          send(event.currentTarget.value, isDay ? 0 : TYPING_MS)
        }}
      />
    </div>
  )
}
