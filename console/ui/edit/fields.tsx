/** The fields of forms, and the dialog that has them. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { MatrixProblem } from '../../../matrix/index.ts'
import { editorTexts } from '../../texts/en/editor.ts'
import { texts } from '../../texts/en/explorer.ts'
import { Icon } from '../icons.tsx'

const words = editorTexts.form

interface FormDialogProps {
  readonly title: string
  /** The text of the button. */
  readonly button: string
  /** @returns what is wrong; none: it is made, and the dialog closes */
  readonly submit: () => readonly MatrixProblem[]
  /** Absent: there is nothing to remove. */
  readonly remove?: (() => readonly MatrixProblem[]) | undefined
  /** Where a problem is, in the words of the form. Absent: the form shows one row. */
  readonly placeOf?: (path: string) => string
  /** Whether it shows a table. */
  readonly wide?: boolean
  readonly close: () => void
  readonly children: ComponentChildren
}

/** A dialog of the browser's own, with a form in it. */
export function FormDialog(props: FormDialogProps) {
  const { title, button, submit, remove, placeOf, wide, close, children } = props
  const id = useId()
  const dialog = useModal()
  const [problems, setProblems] = useState<readonly MatrixProblem[]>([])
  const act = (work: () => readonly MatrixProblem[]) => {
    const found = work()
    setProblems(found)
    if (found.length === 0) close()
  }
  return (
    <dialog
      ref={dialog}
      class="help form-dialog"
      data-wide={wide}
      aria-labelledby={id}
      onClose={({ currentTarget }) => currentTarget.isConnected && close()}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet" aria-label={texts.close} onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <form
        class="edit-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          act(submit)
        }}
      >
        {children}
        <Refused problems={problems} placeOf={placeOf ?? placeInRow} />
        <div class="edit-buttons">
          {remove && (
            <button type="button" class="quiet" onClick={() => act(remove)}>
              {words.remove}
            </button>
          )}
          <button type="button" onClick={close}>
            {texts.cancel}
          </button>
          <button type="submit" class="main">
            {button}
          </button>
        </div>
      </form>
    </dialog>
  )
}

function useModal() {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const before = document.activeElement
    const { current } = dialog
    current?.showModal()
    current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
    return () => {
      current?.close()
      // A removed element cannot take the focus again.
      const next = before instanceof HTMLElement && before.isConnected ? before : null
      ;(next ?? document.getElementById('content'))?.focus()
    }
  }, [])
  return dialog
}

/** The field. The index of a row means nothing where one row is shown. */
export const placeInRow = (path: string): string => path.replace(/^\w+\[\d+\]\.?/, '')

interface RefusedProps extends Required<Pick<FormDialogProps, 'placeOf'>> {
  readonly problems: readonly MatrixProblem[]
}

function Refused({ problems, placeOf }: RefusedProps) {
  if (problems.length === 0) return null
  return (
    <div role="alert" class="problems">
      <p>{words.refused}</p>
      <ul>
        {problems.map(({ path, code, expected }) => (
          <li key={path}>
            <strong>{placeOf(path)}</strong> {expected} {code && <code>{code}</code>}
          </li>
        ))}
      </ul>
    </div>
  )
}

interface FieldProps<T> {
  readonly label: string
  readonly value: T
  readonly change: (value: T) => void
  readonly hint?: string | undefined
}

interface TextProps extends FieldProps<string> {
  readonly mono?: boolean
  readonly optional?: boolean
  readonly lines?: boolean
}

export function TextField({ label, value, change, hint, mono, optional, lines }: TextProps) {
  const id = useId()
  const given = {
    ...{ id, value, autocomplete: 'off', spellcheck: false, class: mono ? 'mono' : undefined },
    ...(hint && { 'aria-describedby': `${id}-hint` }),
    onInput: (event: { readonly currentTarget: { readonly value: string } }) =>
      change(event.currentTarget.value),
  }
  return (
    <div class="edit-field">
      <label for={id}>
        {label}
        {optional && <span class="dim"> ({words.optional})</span>}
      </label>
      {lines ? <textarea {...given} /> : <input type="text" {...given} />}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

interface SelectProps<T extends string> extends FieldProps<T> {
  readonly options: readonly { readonly value: T; readonly text: string }[]
}

export function SelectField<T extends string>({ label, value, change, options }: SelectProps<T>) {
  const id = useId()
  return (
    <div class="edit-field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => change(event.currentTarget.value as T)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </div>
  )
}

export function CheckField({ label, value, change }: FieldProps<boolean>) {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={(event) => change(event.currentTarget.checked)} />
      {label}
    </label>
  )
}

interface ChecksProps<T extends string> extends FieldProps<readonly T[]> {
  readonly options: readonly { readonly value: T; readonly text: string }[]
}

/** Some of a few. They stay in the order of the options. */
export function ChecksField<T extends string>({ label, value, change, options }: ChecksProps<T>) {
  const toggled = (changed: T, on: boolean) =>
    options.map((option) => option.value).filter((each) => (each === changed ? on : value.includes(each)))
  return (
    <fieldset class="edit-field">
      <legend>{label}</legend>
      {options.map((option) => (
        <CheckField
          key={option.value}
          label={option.text}
          value={value.includes(option.value)}
          change={(on) => change(toggled(option.value, on))}
        />
      ))}
    </fieldset>
  )
}

/** The value → text of a record, as options. */
export function optionsOf<T extends string>(record: Readonly<Record<T, string>>) {
  return Object.entries(record).map(([value, text]) => ({ value: value as T, text: text as string }))
}
