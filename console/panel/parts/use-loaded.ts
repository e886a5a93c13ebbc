/** Something that is asked for when its view opens, as a hook. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, apiErrorOf } from '../model/errors.ts'

export interface Loaded<T> {
  /** `undefined`: it has not arrived. The last one stays while it is asked for again. */
  readonly value: T | undefined
  readonly error: ApiError | undefined
  readonly reload: () => Promise<void>
  readonly change: (changed: (value: T) => T) => void
}

/** @param load keep it with `useCallback`: another function is something else */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<Pick<Loaded<T>, 'value' | 'error'>>({
    ...{ value: undefined, error: undefined },
  })
  const current = useRef(new AbortController())
  const reload = useCallback(async () => {
    current.current.abort()
    current.current = new AbortController()
    const { signal } = current.current
    setState(({ value }) => ({ value, error: undefined }))
    try {
      const value = await load(signal)
      if (!signal.aborted) setState({ value, error: undefined })
    } catch (error) {
      if (!signal.aborted) setState(({ value }) => ({ value, error: apiErrorOf(error) }))
    }
  }, [load])
  useEffect(() => {
    void reload()
    return () => current.current.abort()
  }, [reload])
  const change = useCallback((changed: (value: T) => T) => {
    setState(({ value, error }) => ({ value: value && changed(value), error }))
  }, [])
  return { ...state, reload, change }
}
