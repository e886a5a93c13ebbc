/** Every runbook is run from top to bottom, as an operator would. */
import { describe } from 'vitest'
import { pageOf } from './page.ts'
import { readPage } from './story.ts'

describe('docs/runbooks.md', () => {
  readPage(pageOf('docs/runbooks.md'))
})
