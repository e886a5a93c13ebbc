/** What is drawn until something has arrived, or where it does not arrive. */
import type { ComponentChildren } from 'preact'
import { texts } from '../../texts/en/profile.ts'
import { messageOf } from '../model/messages.ts'
import type { Loaded } from './use-loaded.ts'

interface LoadedViewProps<T> {
  readonly loaded: Loaded<T>
  readonly children: (value: T) => ComponentChildren
}

export function LoadedView<T>({ loaded: { value, error, reload }, children }: LoadedViewProps<T>) {
  return (
    <>
      {error !== undefined && (
        <div class="not-loaded" role="alert">
          <p>
            <strong>{texts.items.failed}</strong> {messageOf(error)}
          </p>
          <button type="button" onClick={() => void reload()}>
            {texts.items.retry}
          </button>
        </div>
      )}
      {value === undefined && error === undefined && <p class="waiting">{texts.items.loading}</p>}
      {value !== undefined && children(value)}
    </>
  )
}
