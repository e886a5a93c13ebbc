/**
 * Parts that the pages of administrators share: names, states, buttons that say why they cannot be used, and
 * the panel beside a list.
 */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { texts } from '../../../texts/en/iam.ts'
import { focusNext } from '../../../ui/focus.ts'
import { Icon } from '../../../ui/icons.tsx'
import type { Why } from '../../model/may.ts'
import { ActButton } from '../../parts/act-button.tsx'

const { shared } = texts

/** A name that a user chose: with its own direction, and whole for those who point at it. */
export function Name({ name }: { readonly name: string }) {
  return (
    <bdi class="name" title={name}>
      {name}
    </bdi>
  )
}

/** With its id, which another one of that name does not have. */
export function NameWithId({ name, id }: { readonly name: string; readonly id: string }) {
  return (
    <>
      <Name name={name} />
      {id !== '' && id !== name && (
        <>
          {' '}
          <code class="name-id" title={id}>
            {id}
          </code>
        </>
      )}
    </>
  )
}

export function State({ enabled }: { readonly enabled: boolean }) {
  return (
    <span class="badge" data-kind={enabled ? 'good' : 'bad'}>
      {enabled ? shared.enabled : shared.disabled}
    </span>
  )
}

interface ActProps {
  readonly text: string
  /** The text for a screen reader, where the text alone is not enough. */
  readonly label?: string
  /** Why it cannot be used. */
  readonly why: Why | undefined
  readonly act: () => void
  readonly danger?: boolean
  readonly quiet?: boolean
  /** The most important one of its page. */
  readonly primary?: boolean
}

/** A button that says why it cannot be used. */
export function Act({ text, label, why, act, danger = false, quiet = false, primary = false }: ActProps) {
  const kind = [danger && 'danger', quiet && 'quiet', primary && 'primary'].filter(Boolean).join(' ')
  return <ActButton text={text} label={label} why={why && texts.why[why]} act={act} kind={kind} />
}

/** The reasons of several buttons, each once, for those who see the buttons. */
export function Reasons({ whys }: { readonly whys: readonly (Why | undefined)[] }) {
  const reasons = [...new Set(whys)].filter((why) => why !== undefined)
  if (reasons.length === 0) return null
  return (
    <ul class="reasons hint">
      {reasons.map((why) => (
        <li key={why}>{texts.why[why]}</li>
      ))}
    </ul>
  )
}

interface BesideProps {
  readonly title: ComponentChildren
  readonly label: string
  readonly close: () => void
  readonly children: ComponentChildren
}

/**
 * The panel of a row, beside the list. It takes the focus, closes with Esc, and gives the focus back to the
 * row.
 */
export function Beside({ title, label, close, children }: BesideProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), [])
  const leave = () => {
    const row = document.querySelector<HTMLElement>('.rows tr.opened')
    close()
    focusNext(() => (row?.isConnected ? row : document.querySelector('h1')))
  }
  return (
    <aside
      class="beside"
      aria-label={label}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return
        if (event.target instanceof Element && event.target.closest('dialog')) return
        event.preventDefault()
        leave()
      }}
    >
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <button type="button" class="quiet" aria-label={shared.close} onClick={leave}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </aside>
  )
}
