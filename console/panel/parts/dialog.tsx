/** Dialogs of the browser's own: they keep the focus inside, close with Esc, and give the focus back. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { texts } from '../../texts/en/panel.ts'
import { Icon } from '../../ui/icons.tsx'

interface DialogProps {
  readonly title: string
  /** Closed with Esc, with its button, or by the page. */
  readonly close: () => void
  readonly children: ComponentChildren
  /** For one that is closed by what is in it alone. */
  readonly held?: boolean
  readonly wide?: boolean
}

export function Dialog({ title, close, children, held = false, wide = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
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
  return (
    <dialog
      ref={dialog}
      class={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (!held) close()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        {!held && (
          <button type="button" class="quiet" aria-label={texts.dialog.close} onClick={close}>
            <Icon name="close" />
          </button>
        )}
      </header>
      {children}
    </dialog>
  )
}
