/**
 * Picks an API: a text field with a list below it (WAI-ARIA's combobox), which ten thousand APIs do not slow
 * down.
 */
import { useId, useState } from 'preact/hooks'
import { type Offering, offers, type Picked } from '../model/pick.ts'
import { wordsOf } from '../model/search.ts'
import { Marked } from './parts.tsx'

interface PickerProps {
  readonly engine: Offering
  readonly label: string
  /** The API that is picked, where one is shown. */
  readonly picked?: string | undefined
  /** Ids that are not offered. */
  readonly without?: readonly string[]
  readonly pick: (api: string) => void
}

export function ApiPicker({ engine, label, picked, without = [], pick }: PickerProps) {
  const id = useId()
  const [search, setSearch] = useState<string | undefined>(undefined)
  const [active, setActive] = useState(0)
  const isOpen = search !== undefined
  const offered = isOpen ? offers(engine, search, without) : []
  const shown = search ?? (picked === undefined ? '' : (engine.apis.get(picked)?.title ?? picked))
  const choose = (place: number) => {
    const chosen = offered[place]
    if (chosen === undefined) return
    pick(chosen.id)
    setSearch(undefined)
    setActive(0)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      if (isOpen) setActive(Math.max(0, Math.min(offered.length - 1, active + step)))
      else setSearch('')
    } else if (event.key === 'Enter' && isOpen) {
      event.preventDefault()
      choose(active)
    } else if (event.key === 'Escape' && isOpen) {
      // It closes the list alone, and not the dialog around it.
      event.preventDefault()
      event.stopPropagation()
      setSearch(undefined)
    }
  }
  return (
    <div class="picker">
      <label for={`${id}-input`}>{label}</label>
      <input
        id={`${id}-input`}
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && offered.length > 0 ? `${id}-${active}` : undefined}
        value={shown}
        onFocus={(event) => event.currentTarget.select()}
        onClick={() => setSearch(search ?? '')}
        onInput={(event) => {
          setSearch(event.currentTarget.value)
          setActive(0)
        }}
        onBlur={() => setSearch(undefined)}
        onKeyDown={onKeyDown}
      />
      <Offered
        id={id}
        label={label}
        offered={offered}
        active={active}
        search={search ?? ''}
        choose={choose}
      />
    </div>
  )
}

interface OfferedProps {
  readonly id: string
  readonly label: string
  readonly offered: readonly Picked[]
  readonly active: number
  readonly search: string
  readonly choose: (place: number) => void
}

function Offered({ id, label, offered, active, search, choose }: OfferedProps) {
  return (
    <div id={`${id}-list`} role="listbox" aria-label={label} hidden={offered.length === 0}>
      {offered.map((api, place) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text field, which keeps the focus
        <div
          key={api.id}
          id={`${id}-${place}`}
          role="option"
          tabIndex={-1}
          aria-selected={place === active}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => choose(place)}
        >
          <span>
            <Marked text={api.title} words={wordsOf(search)} />
          </span>
          {api.id !== api.title && <code>{api.id}</code>}
        </div>
      ))}
    </div>
  )
}
