/** A secret that is shown this once. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { texts } from '../../texts/en/panel.ts'
import { Icon } from '../../ui/icons.tsx'
import { CopyButton } from '../../ui/parts.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Dialog } from './dialog.tsx'

interface SecretOnceProps {
  readonly title: string
  /** Its purpose. */
  readonly about?: ComponentChildren
  readonly label: string
  readonly value: string
  /** Name of the file that it can be saved as. */
  readonly fileName: string
  readonly close: () => void
  /** For example the command that uses it. */
  readonly children?: ComponentChildren
}

/** It is in no storage and in no address, and stays until the user says “I have saved it”. */
export function SecretOnce({ title, about, label, value, fileName, close, children }: SecretOnceProps) {
  const id = useId()
  return (
    // Another secret is another dialog, whatever became of the one before.
    <Dialog key={value} title={title} close={close} held wide>
      <div class="stack">
        {about && <p>{about}</p>}
        <div class="secret">
          <label for={id}>{label}</label>
          <div class="secret-row">
            <SecretField id={id} value={value} />
            <CopyButton text={() => value} label={texts.secret.copy} />
            <button
              type="button"
              class="quiet"
              onClick={() => saveFile(fileName, [`${value}\n`], 'text/plain')}
            >
              <Icon name="file" />
              {texts.secret.download}
            </button>
          </div>
          <p class="hint">{texts.secret.once}</p>
        </div>
        {children}
        <div class="actions">
          <button type="button" class="primary" onClick={close}>
            {texts.secret.saved}
          </button>
        </div>
      </div>
    </Dialog>
  )
}

/**
 * Selected when it has the focus. The beginning distinguishes a key from a password: a field that is
 * too narrow shows it, and not the end.
 */
function SecretField({ id, value }: { readonly id: string; readonly value: string }) {
  const select = (field: HTMLInputElement) => {
    field.setSelectionRange(0, value.length, 'backward')
    field.scrollLeft = 0
  }
  return (
    <input
      id={id}
      type="text"
      class="mono"
      readOnly
      value={value}
      autocomplete="off"
      spellcheck={false}
      onFocus={({ currentTarget }) => {
        select(currentTarget)
        // Browsers move to the end of what they select by themselves, after this.
        requestAnimationFrame(() => {
          if (document.activeElement === currentTarget) select(currentTarget)
        })
      }}
    />
  )
}
