/** A list that is short enough to be wanted whole. */
import type { Fetched } from './paging.ts'

/** Rows that the sidecar gives at once, at the most. */
export const WHOLE_PAGE = 1_000

/** Asks for page after page. */
export async function allPages<T>(
  fetchPage: (pageToken: string) => Promise<Fetched<T>>,
): Promise<readonly T[]> {
  const all: T[] = []
  for (let pageToken = ''; ; ) {
    const { rows, nextPageToken } = await fetchPage(pageToken)
    all.push(...rows)
    if (nextPageToken === '') return all
    pageToken = nextPageToken
  }
}
