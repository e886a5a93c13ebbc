/** A list that comes page by page, as a hook. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { apiErrorOf } from '../model/errors.ts'
import {
  arrived,
  type Fetched,
  failed,
  loading,
  NOTHING_YET,
  type Paged,
  withFirst,
  withRow,
} from '../model/paging.ts'

/** Rows that are asked for at once. */
const PAGE_SIZE = 200

export interface Pages<T> {
  readonly paged: Paged<T>
  readonly keyOf: (row: T) => string
  readonly more: () => void
  readonly reload: () => void
  /** Changes the row of the key, or takes it away where `changed` returns `undefined`. */
  readonly change: (key: string, changed: (row: T) => T | undefined) => void
  readonly add: (row: T) => void
}

/**
 * @param fetchPage keep it with `useCallback`: another function is another list
 * @param keyOf the value that identifies a row
 */
export function usePages<T>(
  fetchPage: (pageToken: string, pageSize: number, signal: AbortSignal) => Promise<Fetched<T>>,
  keyOf: (row: T) => string,
): Pages<T> {
  const [paged, setPaged] = useState<Paged<T>>(NOTHING_YET)
  const current = useRef(new AbortController())
  // The page that is on its way. Two draws before it arrives would ask for it twice.
  const asked = useRef<string | undefined>(undefined)
  const latestKeyOf = useRef(keyOf)
  latestKeyOf.current = keyOf

  const fetchNext = useCallback(
    async (token: string, { signal }: AbortController) => {
      if (asked.current === token) return
      asked.current = token
      // Not the list as it was drawn: a row may have been put in since.
      setPaged(loading)
      try {
        const page = await fetchPage(token, PAGE_SIZE, signal)
        if (!signal.aborted) setPaged((now) => arrived(now, page, latestKeyOf.current))
      } catch (error) {
        if (signal.aborted) return
        asked.current = undefined
        setPaged((now) => failed(now, apiErrorOf(error)))
      }
    },
    [fetchPage],
  )
  const reload = useCallback(() => {
    current.current.abort()
    current.current = new AbortController()
    asked.current = undefined
    setPaged(NOTHING_YET)
    void fetchNext('', current.current)
  }, [fetchNext])
  useEffect(() => {
    reload()
    return () => current.current.abort()
  }, [reload])
  return {
    ...{ paged, keyOf, reload },
    more: () => {
      if (paged.next !== undefined) void fetchNext(paged.next, current.current)
    },
    change: (key, changed) => setPaged((now) => withRow(now, (row) => keyOf(row) === key, changed)),
    add: (row) => setPaged((now) => withFirst(now, row)),
  }
}
