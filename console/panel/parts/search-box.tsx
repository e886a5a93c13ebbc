/** A search. The key `/` leads to it, as in the explorer. */
import { texts } from '../../texts/en/panel.ts'
import { Icon } from '../../ui/icons.tsx'

interface SearchBoxProps {
  readonly value: string
  readonly change: (value: string) => void
  readonly label?: string
}

export function SearchBox({ value, change, label = texts.list.search }: SearchBoxProps) {
  return (
    <div class="search">
      <Icon name="search" />
      <input
        id="search"
        type="search"
        value={value}
        placeholder={label}
        aria-label={label}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || value === '') return
          event.preventDefault()
          change('')
        }}
      />
      <kbd>/</kbd>
    </div>
  )
}
