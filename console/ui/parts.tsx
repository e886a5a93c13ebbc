/** Small parts that several pages share. */
import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Engine } from '../../engine/index.ts'
import { piecesOf } from '../model/search.ts'
import { hashOf, sharedView, type View } from '../model/view.ts'
import { texts } from '../texts/en/explorer.ts'
import { Icon } from './icons.tsx'

/** How long a button says that it has copied, in milliseconds. */
const COPIED_MS = 1_500
/** How long it says that it has not, which takes longer to read. */
const FAILED_MS = 8_000

/** Facts about something, by their names. `undefined`: that is not shown. */
export function Facts({ facts }: { readonly facts: Readonly<Record<string, ComponentChildren>> }) {
  return (
    <dl class="facts">
      {Object.entries(facts).map(
        ([name, value]) =>
          value !== undefined && (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </Fragment>
          ),
      )}
    </dl>
  )
}

export function CopyButton({
  text,
  label = texts.copy,
}: {
  readonly text: () => string
  readonly label?: string
}) {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready')
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const copy = async () => {
    const copied = await copyText(text())
    setState(copied ? 'copied' : 'failed')
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setState('ready'), copied ? COPIED_MS : FAILED_MS)
  }
  return (
    <button type="button" class="quiet" onClick={copy}>
      <Icon name={state === 'copied' ? 'check' : 'copy'} />
      <span aria-live="polite">{{ ready: label, copied: texts.copied, failed: texts.notCopied }[state]}</span>
    </button>
  )
}

/**
 * A file has no clipboard in some browsers, so a selection is copied there.
 *
 * @returns whether the browser did it: it wants a click or a key shortly before
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const before = document.activeElement
    const area = document.createElement('textarea')
    area.value = text
    // Outside of an open dialog nothing can be selected.
    const place = before?.closest('dialog') ?? [...document.querySelectorAll('dialog[open]')].at(-1)
    ;(place ?? document.body).append(area)
    area.focus({ preventScroll: true })
    area.select()
    // Without the focus something else would be copied, or nothing.
    const copied = document.activeElement === area && document.execCommand('copy')
    area.remove()
    if (before instanceof HTMLElement) before.focus({ preventScroll: true })
    return copied
  }
}

/** The address of a view, for others. */
export function linkOf(view: View, engine: Engine): string {
  return new URL(hashOf(sharedView(view, engine)), location.href).href
}

/** A command to copy. */
export function Command({
  title,
  text,
  hint,
}: {
  readonly title: string
  readonly text: string
  readonly hint?: string
}) {
  return (
    <figure class="command">
      <figcaption>
        <span>{title}</span>
        <CopyButton text={() => text} />
      </figcaption>
      <pre>
        <code>{text}</code>
      </pre>
      {hint && <p class="hint">{hint}</p>}
    </figure>
  )
}

/** A text in which the words of a search are marked. */
export function Marked({ text, words }: { readonly text: string; readonly words: readonly string[] }) {
  return <>{piecesOf(text, words).map((piece) => (piece.found ? <mark>{piece.text}</mark> : piece.text))}</>
}

/** The answer of an engine or a sidecar. */
export interface Answer {
  readonly allowed: boolean
  readonly reason: string
  readonly message: string
}

export function VerdictBox({ answer: { allowed, reason, message } }: { readonly answer: Answer }) {
  return (
    <div class="verdict" data-allowed={allowed}>
      <span class="mark">
        <Icon name={allowed ? 'check' : 'slash'} />
        {allowed ? texts.states.allowed : texts.states.denied}
      </span>
      <code>{reason}</code>
      <p>
        <Message text={message} />
      </p>
    </div>
  )
}

/** The title of a kind stands in sentences, and so begins with a small letter. */
export function headline(title: string): string {
  return title.charAt(0).toUpperCase() + title.slice(1)
}

/** Longest id that is never broken, in characters: it fits a phone of 320 pixels. */
const WHOLE_LENGTH_MAX = 32

/**
 * Messages of the engine write ids in backticks. A line that ended at a hyphen of an id would change what it
 * says.
 */
export function Message({ text }: { readonly text: string }) {
  return (
    <>
      {text.split('`').map((part, index) => {
        if (index % 2 === 0) return part
        return <code class={part.length <= WHOLE_LENGTH_MAX ? 'whole' : undefined}>{part}</code>
      })}
    </>
  )
}

/** Choices of which one is made. */
export function Choice<T extends string>({
  label,
  options,
  chosen,
  choose,
}: {
  readonly label: string
  readonly options: readonly { readonly value: T; readonly text: string; readonly hint?: string }[]
  readonly chosen: T
  readonly choose: (value: T) => void
}) {
  return (
    <fieldset class="choice">
      <legend class="unseen">{label}</legend>
      {options.map(({ value, text, hint }) => (
        <label key={value} title={hint}>
          <input type="radio" name={label} checked={value === chosen} onChange={() => choose(value)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  )
}

export function Section({
  title,
  children,
}: {
  readonly title: string
  readonly children: ComponentChildren
}) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  )
}
