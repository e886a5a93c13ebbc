/** Lists by page: a page token is the key of the last record before it. */
import { invalidArgument } from '../../base/call-error.ts'
import type { Page } from '../../directory/directory.ts'

/** The part of a list. */
export interface PageRequest {
  /** The most records; 0: 100. */
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
  request: PageRequest,
  list: (page: Page) => Promise<readonly T[]>,
  keyOf: (record: T) => string,
): Promise<Listed<T>> {
  const { after, size } = pageIn(request)
  // One more than asked for shows whether there is more.
  const records = await list({ after, size: size + 1 })
  const items = records.slice(0, size)
  const last = records.length > size ? items.at(-1) : undefined
  return { items, nextPageToken: last === undefined ? '' : tokenOf(keyOf(last)) }
}

/** The page that is asked for. @throws CallError */
export function pageIn(request: PageRequest): Page {
  const size = sizeOf(request)
  return { after: keyIn(request.pageToken), size }
}

/** How many records are asked for. @throws CallError */
export function sizeOf({ pageSize }: PageRequest): number {
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX)
    throw invalidArgument({ field: 'page_size', expected: `0 (the default) to ${PAGE_SIZE_MAX}` })
  return pageSize === 0 ? PAGE_SIZE_DEFAULT : pageSize
}

/** The page token of a key. */
export function tokenOf(key: string): string {
  return Buffer.from(key).toString('base64url')
}

/** The key of a page token. @throws CallError where no token is so written */
export function keyIn(pageToken: string): string {
  const key = Buffer.from(pageToken, 'base64url').toString()
  if (tokenOf(key) !== pageToken)
    throw invalidArgument({ field: 'page_token', expected: 'the next_page_token of the previous response' })
  return key
}
