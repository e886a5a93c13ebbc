/**
 * Forms: a label, a hint and an error to each field, the first error gets the focus, Enter sends, and one
 * cannot send twice.
 */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { texts } from '../../texts/en/panel.ts'
import { focusNext } from '../../ui/focus.ts'
import { Message } from '../../ui/parts.tsx'
import { type ApiError, apiErrorOf, GIVEN_UP, violationsOf } from '../model/errors.ts'
import { messageOf } from '../model/messages.ts'
import { useSending } from './dialog.tsx'

export type Values = Readonly<Record<string, string>>
/** Name of a field → what is wrong with it. */
export type Faults<T extends Values> = Partial<Readonly<Record<keyof T, string | undefined>>>

export interface FormState<T extends Values> {
  readonly values: T
  readonly set: (change: Partial<T>) => void
  readonly faults: Faults<T>
  /** The problem as a whole. */
  readonly problem: string
  readonly busy: boolean
  readonly send: (submit: (values: T) => Promise<void>) => Promise<boolean>
  /** Takes back what was typed. */
  readonly reset: () => void
}

/** @param check says what is wrong with the values before they are sent */
export function useForm<T extends Values>(
  first: T,
  check: (values: T) => Faults<T> = () => ({}),
): FormState<T> {
  const [values, setValues] = useState(first)
  const [faults, setFaults] = useState<Faults<T>>({})
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)
  const sending = useRef(false)
  const refused = (error: ApiError) => {
    if (error.reason === GIVEN_UP) return
    const { fields, rest } = violationsOf(error, Object.keys(first))
    setFaults(fields as Faults<T>)
    if (rest !== '' || Object.keys(fields).length === 0) setProblem(messageOf(error, rest))
  }
  const send = async (submit: (values: T) => Promise<void>): Promise<boolean> => {
    if (sending.current) return false
    const found = check(values)
    setFaults(found)
    setProblem('')
    if (Object.values(found).some((each) => each !== undefined)) return false
    sending.current = true
    setBusy(true)
    try {
      await submit(values)
      return true
    } catch (error) {
      if (error instanceof FieldError) setFaults({ [error.field]: error.message } as Faults<T>)
      else refused(apiErrorOf(error))
      return false
    } finally {
      sending.current = false
      setBusy(false)
    }
  }
  return {
    ...{ values, faults, problem, busy, send },
    set: (change) => {
      setValues((before) => ({ ...before, ...change }))
      setFaults((before) => ({
        ...before,
        ...Object.fromEntries(Object.keys(change).map((name) => [name, undefined])),
      }))
    },
    reset: () => {
      setValues(first)
      setFaults({})
      setProblem('')
    },
  }
}

/** Thrown by a `submit` whose answer is about one field. */
export class FieldError extends Error {
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

interface FormProps<T extends Values> {
  readonly form: FormState<T>
  readonly submit: (values: T) => Promise<void>
  /** The text of the button: the verb. */
  readonly button: string
  readonly children: ComponentChildren
  readonly danger?: boolean
  /** There is nothing to send, or it may not be sent. */
  readonly disabled?: boolean
  readonly cancel?: () => void
  /** Beside the button. */
  readonly beside?: ComponentChildren
}

export function Form<T extends Values>(props: FormProps<T>) {
  const { form, submit, button, children, danger = false, disabled = false, cancel, beside } = props
  const element = useRef<HTMLFormElement>(null)
  useSending(form.busy)
  const onSubmit = async (event: Event) => {
    event.preventDefault()
    const before = document.activeElement
    if (await form.send(submit)) return
    // A button that cannot be pressed meanwhile loses the focus.
    focusNext(() => element.current?.querySelector('[aria-invalid="true"]') ?? before, before)
  }
  return (
    <form ref={element} class="form" noValidate onSubmit={onSubmit} aria-busy={form.busy}>
      {form.problem !== '' && (
        <p class="problem" role="alert">
          <Message text={form.problem} />
        </p>
      )}
      {children}
      <div class="actions">
        {beside}
        {cancel && (
          <button type="button" disabled={form.busy} onClick={cancel}>
            {texts.dialog.cancel}
          </button>
        )}
        <button type="submit" class={danger ? 'primary danger' : 'primary'} disabled={form.busy || disabled}>
          {form.busy ? texts.form.busy : button}
        </button>
      </div>
    </form>
  )
}

interface FieldProps<T extends Values> {
  readonly form: FormState<T>
  readonly name: keyof T & string
  readonly label: string
  readonly hint?: string | undefined
  readonly type?: 'text' | 'password'
  /** As the browser and password managers know it: `username`, `current-password`, `one-time-code`. */
  readonly autocomplete?: string
  readonly inputMode?: 'text' | 'numeric'
  readonly optional?: boolean
  readonly autofocus?: boolean
  readonly mono?: boolean
  readonly placeholder?: string
  /** Under the field, instead of the hint. */
  readonly below?: ComponentChildren
}

export function TextField<T extends Values>(props: FieldProps<T>) {
  const { form, name, label, hint, type = 'text', autocomplete = 'off', optional = false, below } = props
  const id = useId()
  const [shown, setShown] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  // Browsers look at the attribute when a page is loaded or a dialog opened, and not later. At once, so that
  // nothing is typed elsewhere before.
  useLayoutEffect(() => {
    if (props.autofocus) input.current?.focus()
  }, [props.autofocus])
  const fault = form.faults[name]
  return (
    <div class="field">
      <label for={id}>
        {label}
        {optional && <span class="dim"> {texts.form.optional}</span>}
      </label>
      <div class="field-row">
        <input
          id={id}
          ref={input}
          autofocus={props.autofocus}
          type={(type === 'password' && !shown ? 'password' : 'text') as 'text'}
          name={name}
          value={form.values[name]}
          class={props.mono ? 'mono' : undefined}
          autocomplete={autocomplete}
          inputMode={props.inputMode}
          placeholder={props.placeholder}
          autocapitalize="off"
          spellcheck={false}
          aria-invalid={fault !== undefined}
          aria-describedby={`${id}-below`}
          onInput={(event) => form.set({ [name]: event.currentTarget.value } as Partial<T>)}
        />
        {type === 'password' && (
          <button type="button" class="quiet" aria-pressed={shown} onClick={() => setShown(!shown)}>
            {shown ? texts.password.hide : texts.password.show}
          </button>
        )}
      </div>
      <div id={`${id}-below`} class="below">
        {fault === undefined ? (below ?? (hint && <p class="hint">{hint}</p>)) : <p class="fault">{fault}</p>}
      </div>
    </div>
  )
}

/** The fault of a field that must be filled. */
export function needed(value: string, label: string): string | undefined {
  return value.trim() === '' ? texts.form.required(label) : undefined
}
