/** Lists that arrive in pages. */

/** The part of a request that asks for a page. */
export interface PageRequest {
  readonly pageSize: number
  readonly pageToken: string
}

/** Most records in one page. */
const PAGE_SIZE = 1000

/** A list whose pages are asked for one after another. */
export interface Listed {
  /** The field of an answer that has the records. */
  readonly key: string
  readonly pages: AsyncGenerator<readonly object[]>
}

export function everyPage<Key extends string>(
  list: (page: PageRequest) => Promise<{ nextPageToken: string } & Record<Key, object[]>>,
  key: Key,
): Listed {
  return { key, pages: pagesOf(list, key) }
}

async function* pagesOf<Key extends string>(
  list: (page: PageRequest) => Promise<{ nextPageToken: string } & Record<Key, object[]>>,
  key: Key,
): AsyncGenerator<readonly object[]> {
  for (let pageToken = ''; ; ) {
    const answer = await list({ pageSize: PAGE_SIZE, pageToken })
    // A page of what a filter lets through may be empty.
    if (answer[key].length > 0) yield answer[key]
    if (answer.nextPageToken === '') return
    pageToken = answer.nextPageToken
  }
}

export function isListed(answer: object): answer is Listed {
  return 'pages' in answer && 'key' in answer
}

export async function countOf({ pages }: Listed): Promise<number> {
  let count = 0
  for await (const { length } of pages) count += length
  return count
}
