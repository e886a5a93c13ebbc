/** Asks before something is done that has a consequence. */
import type { ComponentChildren } from 'preact'
import { Dialog } from './dialog.tsx'
import { Form, useForm } from './form.tsx'

interface AskFirstProps {
  readonly title: string
  /** The consequence. */
  readonly about: ComponentChildren
  /** What the button says: the verb. */
  readonly button: string
  readonly close: () => void
  /** @throws ApiError is shown in the dialog */
  readonly act: () => Promise<void>
}

export function AskFirst({ title, about, button, close, act }: AskFirstProps) {
  const form = useForm({})
  const submit = async () => {
    await act()
    close()
    requestAnimationFrame(goOnFromTop)
  }
  return (
    <Dialog title={title} close={close}>
      <Form form={form} submit={submit} button={button} danger cancel={close}>
        <p>{about}</p>
      </Form>
    </Dialog>
  )
}

/** What was asked about may be gone, and with it the button that had the focus. */
function goOnFromTop(): void {
  if (document.activeElement === document.body)
    document.querySelector<HTMLElement>('.panel-page h1')?.focus({ preventScroll: true })
}
