/** A button that says why it cannot be used. */
import { useId } from 'preact/hooks'

interface ActButtonProps {
  readonly text: string
  /** The text for a screen reader, where the text alone is not enough. */
  readonly label?: string | undefined
  /** Why it cannot be used. The button stays in the order of the Tab key, so that every user learns why. */
  readonly why?: string | undefined
  /** It was pressed, and is not done yet. */
  readonly busy?: boolean
  readonly act: (button: HTMLButtonElement) => void
  readonly kind?: string
}

export function ActButton({ text, label, why, busy = false, act, kind = '' }: ActButtonProps) {
  const id = useId()
  return (
    <>
      <button
        type="button"
        class={kind}
        disabled={busy}
        aria-label={label}
        aria-disabled={why !== undefined}
        aria-describedby={why && id}
        title={why}
        onClick={({ currentTarget }) => why === undefined && act(currentTarget)}
      >
        {text}
      </button>
      {why && (
        <span id={id} class="unseen">
          {why}
        </span>
      )}
    </>
  )
}
