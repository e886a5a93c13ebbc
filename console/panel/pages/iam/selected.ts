/** The record whose panel is open: of the list where it is loaded, and else asked for by its name. */
import { useCallback, useMemo } from 'preact/hooks'
import { folded, hasWords, wordsOf } from '../../../model/search.ts'
import { type ApiError, apiErrorOf } from '../../model/errors.ts'
import { useLoaded } from '../../parts/use-loaded.ts'

interface Named {
  readonly name: string
}

export interface Selected<T> {
  readonly row: T | undefined
  /** Nothing has that name. */
  readonly lost: boolean
  readonly error: ApiError | undefined
  /** The record was changed. */
  readonly set: (row: T) => void
}

/** @param get keep it with `useCallback` */
export function useSelected<T extends Named>(
  name: string | undefined,
  rows: readonly T[],
  get: (name: string, signal: AbortSignal) => Promise<T | undefined>,
): Selected<T> {
  const listed = name === undefined ? undefined : rows.find((row) => row.name === name)
  const wanted = listed === undefined ? name : undefined
  const load = useCallback(
    async (signal: AbortSignal) => {
      if (wanted === undefined) return undefined
      try {
        return { row: await get(wanted, signal) }
      } catch (error) {
        if (apiErrorOf(error).reason === 'NOT_FOUND') return { row: undefined }
        throw error
      }
    },
    [get, wanted],
  )
  const { value, error, set } = useLoaded(load)
  return {
    row: listed ?? value?.row,
    lost: listed === undefined && value !== undefined && value.row === undefined,
    error: listed === undefined ? error : undefined,
    set: (row) => set({ row }),
  }
}

/** Keeps the rows whose names have the words of a search; `undefined`: all of them. */
export function useNameFilter(search: string): ((row: Named) => boolean) | undefined {
  return useMemo(() => {
    const words = wordsOf(search)
    return words.length === 0 ? undefined : ({ name }: Named) => hasWords(folded(name), words)
  }, [search])
}
