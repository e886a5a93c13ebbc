/** The settings of the page and its keys, in a dialog of the browser. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { texts } from '../texts/en/explorer.ts'
import { Icon } from './icons.tsx'
import { Choice } from './parts.tsx'
import { THEMES, type Theme } from './stored.ts'

interface SettingsProps {
  readonly close: () => void
  readonly singleKeys: boolean
  readonly setSingleKeys: (on: boolean) => void
  readonly theme: Theme
  readonly setTheme: (theme: Theme) => void
}

export function Settings({ close, singleKeys, setSingleKeys, theme, setTheme }: SettingsProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close}>
      <header>
        <h2 id="help-title">{texts.settings.title}</h2>
        <button type="button" class="quiet" aria-label={texts.close} onClick={() => dialog.current?.close()}>
          <Icon name="close" />
        </button>
      </header>
      <div class="setting">
        <span>{texts.theme.label}</span>
        <Choice
          label={texts.theme.label}
          options={THEMES.map((value) => ({ value, text: texts.theme[value] }))}
          chosen={theme}
          choose={setTheme}
        />
      </div>
      <h3>{texts.help.title}</h3>
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
