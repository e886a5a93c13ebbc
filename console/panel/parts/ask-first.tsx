/** Asks before something is done that has a consequence. */
import type { ComponentChildren } from 'preact'
import { focusNext } from '../../ui/focus.ts'
import { Dialog } from './dialog.tsx'
import { Form, useForm } from './form.tsx'

interface AskFirstProps {
  readonly title: string
  /** The consequence. */
  readonly about: string
  /** More important content, which stands before it. */
  readonly children?: ComponentChildren
  /** The text of the button: the verb. */
  readonly button: string
  /** Whether something is lost by it. */
  readonly danger?: boolean
  readonly close: () => void
  /** @throws ApiError is shown in the dialog */
  readonly act: () => Promise<void>
  /** The next dialog takes its place. */
  readonly stays?: boolean
}

export function AskFirst(props: AskFirstProps) {
  const { title, about, children, button, danger = true, close, act, stays = false } = props
  const form = useForm({})
  const submit = async () => {
    await act()
    if (stays) return
    close()
    // The subject may be gone, and with it the button that had the focus.
    focusNext(() =>
      document.activeElement === document.body ? document.querySelector('.panel-page h1') : undefined,
    )
  }
  return (
    <Dialog title={title} close={close}>
      <Form form={form} submit={submit} button={button} danger={danger} cancel={close}>
        {children}
        <p>{about}</p>
      </Form>
    </Dialog>
  )
}
