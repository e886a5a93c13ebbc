/** Asks to type the name of what is lost for good. */
import type { ComponentChildren } from 'preact'
import { texts } from '../../texts/en/panel.ts'
import { Dialog } from './dialog.tsx'
import { Form, TextField, useForm } from './form.tsx'

interface ConfirmNameProps {
  readonly title: string
  /** The loss. */
  readonly about: ComponentChildren
  /** The text that must be typed. */
  readonly name: string
  /** The text of the button: “Delete ci”. */
  readonly button: string
  readonly close: () => void
  /** @throws ApiError is shown in the dialog */
  readonly act: () => Promise<void>
}

export function ConfirmName({ title, about, name, button, close, act }: ConfirmNameProps) {
  const form = useForm({ name: '' }, ({ name: typed }) =>
    typed === name ? {} : { name: texts.typed.differs },
  )
  return (
    <Dialog title={title} close={close}>
      <Form
        form={form}
        submit={async () => {
          await act()
          close()
        }}
        button={button}
        danger
        cancel={close}
      >
        <p>{about}</p>
        <p>{texts.typed.about(name)}</p>
        <TextField form={form} name="name" label={texts.typed.label} autofocus />
      </Form>
    </Dialog>
  )
}
