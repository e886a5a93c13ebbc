/**
 * The pages whose commands need Node alone, read from top to bottom: what a page shows is what is printed.
 * They would take half of `npm test`, which reads README and the page about embedding.
 */
import { describe, expect, test } from 'vitest'
import { blocksOf, needOf, userPages } from '../docs/page.ts'
import { isNotRun, readPage } from '../docs/story.ts'

/** Read by `npm test`. */
const ELSEWHERE = ['README.md', 'docs/use/embedding.md']

const read = userPages.filter((page) => {
  const blocks = blocksOf(page)
  const hasCommands = blocks.some((block) => block.language === 'sh' && !isNotRun(block))
  // Those with other needs are read by docs.test.ts.
  return hasCommands && !ELSEWHERE.includes(page.path) && blocks.every((block) => needOf(block) === undefined)
})

test('there are such pages', () => {
  expect(read.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['docs/operate/runbooks.md', 'docs/use/matrix.md', 'docs/use/own-matrix.md']),
  )
})

describe.each(read)('$path', (page) => {
  readPage(page)
})
