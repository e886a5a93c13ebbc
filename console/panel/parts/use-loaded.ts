/** Something that is asked for when its view opens, as a hook. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, apiErrorOf } from '../model/errors.ts'

export interface Loaded<T> {
  /** `undefined`: it has not arrived. The last one stays while it is asked for again. */
  readonly value: T | undefined
  readonly error: ApiError | undefined
  readonly reload: () => Promise<void>
  readonly set: (value: T) => void
  /** Does nothing before it has arrived. */
  readonly change: (changed: (value: T) => T) => void
}

const NOTHING_YET = { value: undefined, error: undefined }

/** @param load keep it with `useCallback`: another function is something else */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<Pick<Loaded<T>, 'value' | 'error'>>(NOTHING_YET)
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
    // The present value is of something else.
    setState(NOTHING_YET)
    void reload()
    return () => current.current.abort()
  }, [reload])
  const set = useCallback((value: T) => setState({ value, error: undefined }), [])
  const change = useCallback((changed: (value: T) => T) => {
    setState(({ value, error }) => ({ value: value && changed(value), error }))
  }, [])
  return { ...state, reload, set, change }
}
