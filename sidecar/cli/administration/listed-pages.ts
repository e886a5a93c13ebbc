/** Lists that arrive in pages. */

/** The part of a request that asks for a page. */
export interface PageRequest {
  readonly pageSize: number
  readonly pageToken: string
}

/** Most records in one page. */
const PAGE_SIZE = 1000

/** All records of a list, page after page. @param key the field of the answer that holds them */
export async function everyPage<Key extends string>(
  list: (page: PageRequest) => Promise<{ nextPageToken: string } & Record<Key, object[]>>,
  key: Key,
): Promise<Record<Key, object[]>> {
  const records: object[] = []
  for (let pageToken = ''; ; ) {
    const answer = await list({ pageSize: PAGE_SIZE, pageToken })
    records.push(...answer[key])
    if (answer.nextPageToken === '') return { [key]: records } as Record<Key, object[]>
    pageToken = answer.nextPageToken
  }
}
