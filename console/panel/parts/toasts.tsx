/** Messages in a corner. They are read out as they come. */
import { useEffect, useState } from 'preact/hooks'
import { texts } from '../../texts/en/panel.ts'
import { Icon } from '../../ui/icons.tsx'
import type { Toaster } from '../model/toasts.ts'

export function Toasts({ toaster }: { readonly toaster: Toaster }) {
  const [shown, setShown] = useState(toaster.shown)
  useEffect(() => toaster.subscribe(() => setShown(toaster.shown())), [toaster])
  return (
    <section class="toasts" aria-label={texts.toast.label} aria-live="polite">
      {shown.map(({ id, text, kind = 'done' }) => (
        <div key={id} class="toast" data-kind={kind}>
          <p>{text}</p>
          <button
            type="button"
            class="quiet"
            aria-label={texts.toast.close}
            onClick={() => toaster.close(id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </section>
  )
}
