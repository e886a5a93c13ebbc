/** Dialogs of the browser's own: they keep the focus inside, close with Esc, and give the focus back. */
import { type ComponentChildren, createContext } from 'preact'
import { useContext, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { texts } from '../../texts/en/panel.ts'
import { Icon } from '../../ui/icons.tsx'
import { stay } from '../../ui/stay.ts'

interface DialogProps {
  readonly title: string
  /** Closed with Esc, with its button, or by the page. */
  readonly close: () => void
  readonly children: ComponentChildren
  /** For one that only its content closes. */
  readonly held?: boolean
  readonly wide?: boolean
}

const Sending = createContext<(sending: boolean) => void>(() => {})

/** Keeps the dialog around it open while something is sent: the answer may be a secret that is shown once. */
export function useSending(sending: boolean): void {
  const tell = useContext(Sending)
  useLayoutEffect(() => {
    if (!sending) return
    tell(true)
    return () => tell(false)
  }, [sending, tell])
}

export function Dialog({ title, close, children, held = false, wide = false }: DialogProps) {
  const [sending, setSending] = useState(false)
  const kept = held || sending
  const dialog = useModal()
  useLayoutEffect(() => (kept ? stay() : undefined), [kept])
  useLayoutEffect(() => {
    // The button that was pressed cannot keep the focus, and without it the keys would not arrive here.
    if (sending && !document.activeElement?.matches('input, select, textarea')) dialog.current?.focus()
  }, [sending])
  const id = useId()
  const shut = () => {
    if (!kept) close()
  }
  return (
    <dialog
      ref={dialog}
      class={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      // A click beside the fields leaves the keys here.
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return
        event.preventDefault()
        shut()
      }}
      onCancel={(event) => {
        event.preventDefault()
        shut()
      }}
      onClose={({ currentTarget }) => {
        if (!currentTarget.isConnected) return
        // Browsers let a page refuse it only a few times.
        if (kept) currentTarget.showModal()
        else close()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        {!held && (
          <button
            type="button"
            class="quiet"
            aria-label={texts.dialog.close}
            disabled={sending}
            onClick={close}
          >
            <Icon name="close" />
          </button>
        )}
      </header>
      <Sending.Provider value={setSending}>{children}</Sending.Provider>
    </dialog>
  )
}

function useModal() {
  const dialog = useRef<HTMLDialogElement>(null)
  // At once, so that no letter is lost that is typed next.
  useLayoutEffect(() => {
    const before = document.activeElement
    const { current } = dialog
    current?.showModal()
    return () => {
      // While it is open, nothing below it takes the focus.
      current?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return dialog
}
