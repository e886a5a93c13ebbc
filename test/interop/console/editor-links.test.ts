/** Links with edits, what is asked about before the page is left, and the ways back. */
import { readFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { startIdentity } from '../../support/identity/identity.ts'
import { choose, copied, fill, press, saved, status, toggle, warns } from '../../support/interop/editor.ts'
import { LAPTOP, openPage, soon, startChromium } from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { newFolder } from '../../support/suite/resources.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined

const { port } = await startIdentity({ flags: { 'http.console': true } })
const SERVED = `http://127.0.0.1:${port}/console/`
const CITY = readFileSync('examples/matrices/city-library.json', 'utf8')

const open = (hash = '#/edit', options = {}) =>
  openPage(browser as Browser, `${SERVED}${hash}`, { ...LAPTOP, ...options })

describe.skipIf(!browser)('a link', () => {
  test('has the edits behind its #, shows them to others, and no server is asked for them', async () => {
    const { page } = await open()
    await toggle(page, 'IAM (users and roles): static token').click()
    await toggle(page, 'Balance: static token').click()
    const link = await copied(page)
    expect(new URL(link).hash).toMatch(/^#\/edit\?mode=resolved&matrix=50bafc5426a4&edits=[\w-]+$/)
    const other = await openPage(browser as Browser, link)
    await soon(() => status(other.page)).toBe('Opens 1 cell, closes 1 cell.')
    expect(other.requests.filter((url) => url.includes('edits='))).toEqual([])
    await press(other.page, 'Undo')
    await soon(() => status(other.page)).toBe('Opens 1 cell, closes 0 cells.')
    // The edits are kept while their user visits another page.
    await other.page.getByRole('link', { name: 'Plan' }).click()
    await other.page.getByRole('link', { name: 'Edit' }).click()
    await soon(() => status(other.page)).toBe('Opens 1 cell, closes 0 cells.')
  })
})

describe.skipIf(!browser)('unsaved work', () => {
  test('is asked about: a new matrix, edits, and edits behind another beginning, until they are saved', async () => {
    const { page } = await open()
    await toggle(page, 'IAM (users and roles): static token').waitFor()
    expect(await warns(page)).toBe(false)
    await press(page, 'New matrix')
    const kind = { 'First kind of token': 'day pass', 'APIs that it opens': 'Hall' }
    await fill(page, { Title: 'Doors', ...kind }, 'Begin')
    await soon(() => warns(page)).toBe(true)
    await saved(page, newFolder(), 'doors.jsonc')
    await soon(() => warns(page)).toBe(false)
    await toggle(page, 'Hall: day pass').click()
    await soon(() => warns(page)).toBe(true)
    await press(page, 'Undo')
    await soon(() => warns(page)).toBe(false)

    await toggle(page, 'Hall: day pass').click()
    await press(page, 'Start over')
    await soon(() => toggle(page, 'Hall: day pass').getAttribute('aria-pressed')).toBe('true')
    expect(await warns(page)).toBe(true)
    await choose(page, CITY, 'city.json')
    await soon(() => page.locator('.edit-name').textContent()).toBe('Your file city.json')
    expect(await warns(page)).toBe(true)
  })
})
