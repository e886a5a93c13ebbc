/** The search of the table, where it is an expression. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Matrix } from '../../engine/index.ts'
import type { queryReader, Read } from '../model/query.ts'
import { looksLikeQuery } from '../model/search.ts'

const WORDS: Read = { type: 'words' }

/** Until the reader of expressions is there, a search is one of words. */
export function useQuery(matrix: Matrix, search: string): Read {
  const [makeReader, setMakeReader] = useState<typeof queryReader | undefined>(undefined)
  const asked = looksLikeQuery(search)
  useEffect(() => {
    if (!asked || makeReader !== undefined) return
    import('../model/query.ts').then(
      ({ queryReader }) => setMakeReader(() => queryReader),
      // Words still work, and the next expression tries again.
      () => {},
    )
  }, [asked, makeReader])
  const read = useMemo(() => (asked ? makeReader?.(matrix) : undefined), [asked, makeReader, matrix])
  return useMemo(() => read?.(search) ?? WORDS, [read, search])
}
