/** Links with edits, what is asked about before the page is left, and the ways back. */
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { supportMatrix } from '../../../matrix/index.ts'
import { startIdentity } from '../../support/identity/identity.ts'
import {
  choose,
  copied,
  effects,
  fill,
  hashOf,
  press,
  saved,
  status,
  toggle,
  warns,
} from '../../support/interop/editor.ts'
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
    // What is shown is kept while somebody looks elsewhere.
    await other.page.getByRole('link', { name: 'Plan' }).click()
    await other.page.getByRole('link', { name: 'Edit' }).click()
    await soon(() => status(other.page)).toBe('Opens 1 cell, closes 0 cells.')
  })

  test.each<[what: string, act: (page: Page) => Promise<unknown>]>([
    ['an edit', (page) => toggle(page, 'Tickets: static token').click()],
    ['an Undo', (page) => press(page, 'Undo')],
    ['Start over', (page) => press(page, 'Start over')],
    ['another file', (page) => choose(page, CITY, 'city.json')],
  ])('leaves the address with %s, and is shown again when it is opened again', async (_what, act) => {
    const { page } = await open()
    await toggle(page, 'IAM (users and roles): static token').click()
    const link = await copied(page)
    const other = await openPage(browser as Browser, link)
    await soon(() => status(other.page)).toBe('Opens 1 cell, closes 0 cells.')
    await act(other.page)
    await soon(() => status(other.page)).not.toBe('Opens 1 cell, closes 0 cells.')
    await soon(() => hashOf(other.page)).not.toContain('edits=')
    await other.page.goto(link)
    await soon(() => status(other.page)).toBe('Opens 1 cell, closes 0 cells.')
  })

  test('has a file with its edits', async () => {
    const { page } = await open()
    await choose(page, CITY, 'city.json')
    await toggle(page, 'Printers: staff badge').click()
    const other = await openPage(browser as Browser, await copied(page))
    await soon(() => other.page.locator('.edit-name').textContent()).toBe('Your file city.json')
    await other.page.getByRole('radio', { name: 'What you began with' }).check()
    await soon(() => status(other.page)).toMatch(/^Opens 1 cell.*1 contradiction/)
  })

  test('that would be too long is none, and the file is offered instead', async () => {
    const { page } = await open()
    const random = Array.from(
      { length: 1_500 },
      (_, at) =>
        `a${Math.sin(at + 1)
          .toString(36)
          .slice(4, 15)}`,
    )
    const apis = random.map((id) => ({ id, title: id, accepts: [], section: 'x' }))
    await choose(page, JSON.stringify({ ...supportMatrix, apis, statements: [], conflicts: [] }), 'x.json')
    await soon(() => effects(page)).toMatch(/too long for a link: [\d,]+ characters, and at most 8,000/)
    expect(await page.getByRole('button', { name: 'Copy link' }).count()).toBe(0)
  })

  test.each([
    ['is cut', 'edits=q1Yq', /cannot be read/],
    ['is of something else', 'edits=AAAA', /cannot be read/],
  ])('that %s says so, and the matrix of the page is there', async (_what, query, problem) => {
    const { page, complaints } = await open(`#/edit?${query}`)
    await soon(() => page.getByRole('alert').textContent()).toMatch(problem)
    await toggle(page, 'IAM (users and roles): static token').waitFor()
    expect(complaints).toEqual([])
  })
})

describe.skipIf(!browser)('what is left to lose', () => {
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

  test('is not there with a link: neither as it came, nor where its steps are undone', async () => {
    const { page } = await open()
    await toggle(page, 'Balance: static token').click()
    const other = await openPage(browser as Browser, await copied(page))
    await soon(() => status(other.page)).toBe('Opens 0 cells, closes 1 cell.')
    expect(await warns(other.page)).toBe(false)
    await press(other.page, 'Undo')
    await soon(() => status(other.page)).toBe('Opens and closes nothing.')
    expect(await warns(other.page)).toBe(false)
  })

  test('six beginnings later, five of them can be undone', async () => {
    const { page } = await open()
    for (const at of [1, 2, 3, 4, 5, 6]) {
      await choose(page, CITY, `city-${at}.json`)
      await soon(() => page.locator('.edit-name').textContent()).toBe(`Your file city-${at}.json`)
    }
    for (const at of [5, 4, 3, 2, 1]) {
      await press(page, 'Undo')
      await soon(() => page.locator('.edit-name').textContent()).toBe(`Your file city-${at}.json`)
    }
    expect(await page.getByRole('button', { name: 'Undo', exact: true }).isDisabled()).toBe(true)
  })
})
