/** Lists by page: a page token is the key of the last record before it. */
import type { Page } from '../authority/administration.ts'
import { invalidArgument } from '../base/call-error.ts'

const PAGE_SIZE_DEFAULT = 100
const PAGE_SIZE_MAX = 1000

/** One page, and the token of the next: the key of the last record, as base64url. */
export async function paged<T>(
  request: { readonly pageSize: number; readonly pageToken: string },
  list: (page: Page) => Promise<T[]>,
  keyOf: (record: T) => string,
): Promise<[records: T[], nextPageToken: string]> {
  const { pageSize, pageToken } = request
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX)
    throw invalidArgument({ field: 'page_size', expected: `0 (the default) to ${PAGE_SIZE_MAX}` })
  const after = Buffer.from(pageToken, 'base64url').toString()
  if (Buffer.from(after).toString('base64url') !== pageToken)
    throw invalidArgument({ field: 'page_token', expected: 'the next_page_token of the answer before' })
  const size = pageSize === 0 ? PAGE_SIZE_DEFAULT : pageSize
  // One more than asked for tells whether there is more.
  const records = await list({ after, size: size + 1 })
  const last = records[size - 1]
  if (records.length <= size || last === undefined) return [records, '']
  return [records.slice(0, size), Buffer.from(keyOf(last)).toString('base64url')]
}
