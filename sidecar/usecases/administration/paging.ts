/** Lists by page: a page token is the key of the last record before it. */
import type { Page } from '../../authority/administration/administration.ts'
import { invalidArgument } from '../../base/call-error.ts'

/** Which part of a list. */
export interface PageRequest {
  /** At most so many; 0: 100. */
  readonly pageSize: number
  /** `nextPageToken` of the answer before; empty: from the beginning. */
  readonly pageToken: string
}

/** A part of a list. */
export interface Listed<T> {
  readonly items: readonly T[]
  /** For the next request; empty: that was all. */
  readonly nextPageToken: string
}

export const PAGE_SIZE_DEFAULT = 100
export const PAGE_SIZE_MAX = 1000

/** One page, and the token of the next: the key of the last record, as base64url. @throws CallError */
export async function paged<T>(
  { pageSize, pageToken }: PageRequest,
  list: (page: Page) => Promise<readonly T[]>,
  keyOf: (record: T) => string,
): Promise<Listed<T>> {
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX)
    throw invalidArgument({ field: 'page_size', expected: `0 (the default) to ${PAGE_SIZE_MAX}` })
  const after = Buffer.from(pageToken, 'base64url').toString()
  if (Buffer.from(after).toString('base64url') !== pageToken)
    throw invalidArgument({ field: 'page_token', expected: 'the next_page_token of the previous response' })
  const size = pageSize === 0 ? PAGE_SIZE_DEFAULT : pageSize
  // One more than asked for tells whether there is more.
  const records = await list({ after, size: size + 1 })
  const last = records[size - 1]
  if (records.length <= size || last === undefined) return { items: records, nextPageToken: '' }
  return { items: records.slice(0, size), nextPageToken: Buffer.from(keyOf(last)).toString('base64url') }
}
