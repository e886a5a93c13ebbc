/**
 * The promises of docs/decide/security.md and its pages by area: one a line, short, each with a test that
 * exists.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { type Page, pageOf, pages } from './page.ts'

const INDEX = 'docs/decide/security.md'
const areas = pages.filter(({ path }) => path.startsWith('docs/decide/security/'))

/** Most characters of a promise. A longer one is two. */
const PROMISE_LENGTH_MAX = 300

/** Most promises of the page for all readers. */
const PROMISES_MAX = 25

test('the index has some twenty promises, and leads to every area', () => {
  const index = pageOf(INDEX)
  expect(promisesOf(index).length).toBeLessThanOrEqual(PROMISES_MAX)
  expect(areas).not.toHaveLength(0)
  for (const { path } of areas) expect(index.text).toContain(`](${path.replace('docs/decide/', '')})`)
})

describe.each([pageOf(INDEX), ...areas])('$path', (page) => {
  test('has promises, and no list of something else in their form', () => {
    expect(promisesOf(page)).not.toHaveLength(0)
  })

  test.each(promisesOf(page))('$promise', ({ promise, shown }) => {
    expect(promise.length).toBeLessThanOrEqual(PROMISE_LENGTH_MAX)
    const named = Array.from(shown.matchAll(/`(test\/[^`]+)`/g), ([, path = '']) => path)
    expect(named).not.toHaveLength(0)
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
    // Nothing but files of tests, so that no "the same" stands for one.
    expect(shown.replace(/`test\/[^`]+`(, )?/g, '')).toBe('')
  })
})

test('the reader of promises finds those of a page', () => {
  const text =
    '| promise | test |\n|---|---|\n| A \\| b. | `test/x.ts` |\n\n| area | about |\n|---|---|\n| c | d |\n'
  expect(promisesOf({ text })).toEqual([{ promise: 'A \\| b.', shown: '`test/x.ts`' }])
})

interface Promised {
  readonly promise: string
  /** The cell of the tests that show it. */
  readonly shown: string
}

function promisesOf({ text }: Pick<Page, 'text'>): Promised[] {
  const tables = text.matchAll(/^\| promise \| test \|\n\|---\|---\|\n((?:\|.*\n)+)/gm)
  return Array.from(tables, ([, rows = '']) => rows.trimEnd().split('\n'))
    .flat()
    .map((row) => {
      const [promise = '', shown = ''] = row.slice(2, -2).split(/(?<!\\) \| /)
      return { promise, shown }
    })
}
