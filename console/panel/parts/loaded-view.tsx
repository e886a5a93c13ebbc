/** The view until a value has arrived, or where it does not arrive. */
import type { ComponentChildren } from 'preact'
import { texts } from '../../texts/en/panel.ts'
import type { ApiError } from '../model/errors.ts'
import { messageOf } from '../model/messages.ts'
import type { Loaded } from './use-loaded.ts'

interface LoadedViewProps<T> {
  readonly loaded: Loaded<T>
  readonly children: (value: T) => ComponentChildren
}

export function LoadedView<T>({ loaded: { value, error, reload }, children }: LoadedViewProps<T>) {
  return (
    <>
      {error !== undefined && <NotLoaded error={error} retry={() => void reload()} />}
      {value === undefined && error === undefined && <p class="waiting">{texts.loading}</p>}
      {value !== undefined && children(value)}
    </>
  )
}

interface NotLoadedProps {
  readonly error: ApiError
  readonly retry: () => void
  /** Class of the box that says it. */
  readonly box?: string
}

export function NotLoaded({ error, retry, box = 'not-loaded' }: NotLoadedProps) {
  return (
    <div class={box} role="alert">
      <p>
        <strong>{texts.notLoaded}</strong> {messageOf(error)}
      </p>
      <button type="button" onClick={retry}>
        {texts.retry}
      </button>
    </div>
  )
}
