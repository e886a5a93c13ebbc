/** Something that is loaded once, and again when that is asked for. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, apiErrorOf } from '../../model/errors.ts'

export interface Loaded<T> {
  readonly value: T | undefined
  readonly error: ApiError | undefined
  readonly reload: () => void
  readonly set: (value: T) => void
}

/** @param load keep it with `useCallback`: another function loads another thing */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [value, set] = useState<T | undefined>(undefined)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const current = useRef(new AbortController())
  const reload = useCallback(() => {
    current.current.abort()
    current.current = new AbortController()
    const { signal } = current.current
    setError(undefined)
    load(signal).then(
      (loaded) => signal.aborted || set(() => loaded),
      (failure) => signal.aborted || setError(apiErrorOf(failure)),
    )
  }, [load])
  useEffect(() => {
    set(undefined)
    reload()
    return () => current.current.abort()
  }, [reload])
  return { value, error, reload, set: (next) => set(() => next) }
}
