/** Lists by page: how much of them, and where the next page begins. */
import { describe, expect, test } from 'vitest'
import {
  keyIn,
  PAGE_SIZE_DEFAULT,
  paged,
  sizeOf,
  tokenOf,
} from '../../sidecar/usecases/administration/paging.ts'
import { outcomeOf } from '../support/sidecar/services.ts'

const NAMES = ['alpha', 'beta', 'gamma', 'ümlaut']

/** A list of these names. */
const page = (pageSize: number, pageToken = '') =>
  paged(
    { pageSize, pageToken },
    async ({ after, size }) => NAMES.filter((name) => name > after).slice(0, size),
    (name) => name,
  )

test.each<[size: number, pages: string[][]]>([
  [1, NAMES.map((name) => [name])],
  [3, [['alpha', 'beta', 'gamma'], ['ümlaut']]],
  [4, [NAMES]],
  [1000, [NAMES]],
  [0, [NAMES]],
])('pages of %i', async (size, pages) => {
  const found: (readonly string[])[] = []
  let pageToken = ''
  do {
    const { items, nextPageToken } = await page(size, pageToken)
    found.push(items)
    pageToken = nextPageToken
  } while (pageToken !== '' && found.length <= pages.length)
  expect(found).toEqual(pages)
})

test('an empty list is one page without a next', async () => {
  const none = { pageSize: 1, pageToken: tokenOf('zeta') }
  expect(await paged(none, async () => [], String)).toEqual({ items: [], nextPageToken: '' })
})

describe('how many', () => {
  test.each([
    [0, PAGE_SIZE_DEFAULT],
    [1, 1],
    [999, 999],
    [1000, 1000],
  ])('%i: %i', (pageSize, size) => {
    expect(sizeOf({ pageSize, pageToken: '' })).toBe(size)
  })

  test.each([-1, 1001])('%i: refused', async (size) => {
    expect(await outcomeOf(() => page(size))).toBe(
      'INVALID_ARGUMENT: page_size: expected 0 (the default) to 1000',
    )
  })
})

describe('a page token', () => {
  test.each(NAMES)('of %s leads back to it', (name) => {
    expect(tokenOf(name)).toMatch(/^[\w-]+$/)
    expect(keyIn(tokenOf(name))).toBe(name)
  })

  test.each(['!', 'YQ==', 'YR', '/w', ' YQ'])('is refused if it is %j', async (pageToken) => {
    expect(await outcomeOf(() => page(1, pageToken))).toBe(
      'INVALID_ARGUMENT: page_token: expected the next_page_token of the previous response',
    )
  })
})
