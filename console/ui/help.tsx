/** The keys of the page, in a dialog of the browser's own. */
import { useEffect, useRef } from 'preact/hooks'
import { texts } from '../texts/en.ts'
import { Icon } from './icons.tsx'

interface HelpProps {
  readonly close: () => void
  readonly singleKeys: boolean
  readonly setSingleKeys: (on: boolean) => void
}

export function Help({ close, singleKeys, setSingleKeys }: HelpProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close}>
      <header>
        <h2 id="help-title">{texts.help.title}</h2>
        <button type="button" class="quiet" aria-label={texts.close} onClick={() => dialog.current?.close()}>
          <Icon name="close" />
        </button>
      </header>
      <dl class="keys">
        {texts.help.rows.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={singleKeys}
          onChange={(event) => setSingleKeys(event.currentTarget.checked)}
        />
        {texts.help.singleKeys}
      </label>
    </dialog>
  )
}
