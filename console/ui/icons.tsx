/** The few signs of the page. Each stands beside words, or has its own words for users who do not see it. */
import type { CellState } from '../model/table.ts'
import { texts } from '../texts/en/explorer.ts'

type Name =
  | 'check'
  | 'dash'
  | 'slash'
  | 'flag'
  | 'search'
  | 'close'
  | 'copy'
  | 'link'
  | 'gate'
  | 'settings'
  | 'plus'
  | 'file'

const PATHS: Readonly<Record<Name, string>> = {
  check: 'M3 8.5 6.5 12 13 4.5',
  dash: 'M5.5 8h5',
  slash: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM4.2 4.2l7.6 7.6',
  flag: 'M8 2 14 8 8 14 2 8Z',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.5 10.5 14 14',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8Z',
  link: 'M6.5 9.5l3-3M7 4.5l1.3-1.3a3 3 0 0 1 4.5 4.3L11.5 9M9 11.5l-1.3 1.3a3 3 0 0 1-4.5-4.3L4.5 7',
  gate: 'M2.5 14V6.5a5.5 5.5 0 0 1 11 0V14M6 2v12M10 2v12M2.5 6.5h11M2.5 10.5h11',
  settings: 'M2 4.5h7M13 4.5h1M11 3v3M2 11.5h1M7 11.5h7M5 10v3',
  plus: 'M8 3v10M3 8h10',
  file: 'M4 1.5h5L12.5 5v9.5h-8.5ZM9 1.5V5h3.5',
}

export function Icon({ name }: { readonly name: Name }) {
  return <Sign name={name} path={PATHS[name]} />
}

/** A sign by its path, in a square of 16. */
export function Sign({ name, path }: { readonly name: string; readonly path: string }) {
  return (
    <svg class="icon" data-icon={name} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={path} />
    </svg>
  )
}

const SIGNS: Readonly<Record<CellState, Name>> = {
  allowed: 'check',
  denied: 'dash',
  'allowed-contested': 'check',
  'denied-contested': 'dash',
  'denied-strict': 'slash',
}

/** A cell's state as a sign and in words. */
export function Mark({ state, text }: { readonly state: CellState; readonly text: string }) {
  return (
    <span class="mark" data-state={state}>
      <Icon name={SIGNS[state]} />
      <span class="mark-text">{text}</span>
      {state.endsWith('-contested') && (
        <span class="contested">
          <Icon name="flag" />
          <span class="mark-text">{texts.contested}</span>
        </span>
      )}
    </span>
  )
}
