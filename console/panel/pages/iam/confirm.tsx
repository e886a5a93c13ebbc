/** Asks once more before something is taken away. */
import type { ComponentChildren } from 'preact'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, useForm } from '../../parts/form.tsx'

interface ConfirmProps {
  readonly title: string
  readonly about: ComponentChildren
  /** What the button says. */
  readonly button: string
  readonly danger?: boolean
  readonly close: () => void
  /** @throws ApiError is shown in the dialog */
  readonly act: () => Promise<void>
  /** What comes after it takes its place. */
  readonly stays?: boolean
}

export function Confirm({ title, about, button, danger = false, close, act, stays = false }: ConfirmProps) {
  const form = useForm({})
  const submit = async () => {
    await act()
    if (!stays) close()
  }
  return (
    <Dialog title={title} close={close}>
      <Form form={form} submit={submit} button={button} danger={danger} cancel={close}>
        {about}
      </Form>
    </Dialog>
  )
}
