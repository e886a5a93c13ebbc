/** Every command of the page about operating is run, and what it shows is what is printed. */
import { describe } from 'vitest'
import { pageOf } from './page.ts'
import { readPage } from './story.ts'

describe('docs/operating.md', () => {
  readPage(pageOf('docs/operating.md'))
})
