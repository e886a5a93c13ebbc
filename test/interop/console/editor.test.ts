/**
 * The page as a playground. A matrix is made from nothing, tested and served; a file is opened and saved; and
 * every user can work with it.
 */
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { supportMatrix } from '../../../matrix/index.ts'
import { startIdentity } from '../../support/identity/identity.ts'
import { choose, effects, fill, press, saved, status, toggle } from '../../support/interop/editor.ts'
import {
  accessibilityFaults,
  fileOf,
  LAPTOP,
  openPage,
  PHONE,
  soon,
  startChromium,
} from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { command } from '../../support/processes/command-line.ts'
import { newFolder } from '../../support/suite/resources.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined

const { port } = await startIdentity({ flags: { 'http.console': true } })
const SERVED = `http://127.0.0.1:${port}/console/`

const open = (hash = '#/edit', options = {}) =>
  openPage(browser as Browser, `${SERVED}${hash}`, { ...LAPTOP, ...options })

/** Makes a matrix as a user who has a document and this page, and nothing else. */
async function fromNothing(page: Page): Promise<void> {
  await press(page, 'New matrix')
  const names = 'Catalogue\nLoans and returns\n\nMember records'
  const kind = { 'First kind of token': 'staff badge', 'What every token begins with': 'stf_' }
  await fill(page, { Title: 'City library', ...kind, 'APIs that it opens': names }, 'Begin')
  await press(page, 'Add a kind of token')
  await page.getByText('More about this kind').click()
  await page.getByLabel('Obtained').selectOption('control_panel')
  await fill(page, { Name: 'kiosk key', 'Scheme before': 'Kiosk', Section: 'Kiosks' }, 'Add')
  await press(page, 'Add an API')
  await page.getByRole('dialog').getByLabel('kiosk key').check()
  await fill(page, { Name: 'Printers', Section: 'Kiosks' }, 'Add')

  await press(page, 'Add a statement')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('What it claims').selectOption({ label: 'A kind does not open these APIs' })
  await dialog.getByLabel('Kind of token').selectOption({ label: 'kiosk key' })
  await dialog.getByRole('combobox', { name: 'Add an API' }).fill('member')
  await page.keyboard.press('Enter')
  await dialog.getByRole('button', { name: 'Take Member records off the list' }).waitFor()
  await fill(page, { 'Words of your document': 'A kiosk never shows the records of members.' }, 'Add')
}

describe.skipIf(!browser).each([
  ['on a laptop', LAPTOP],
  ['on a phone', PHONE],
])('%s', (_where, options) => {
  test('a matrix is made from nothing, and its files are linted, tested and served', async () => {
    const { page, requests, complaints } = await open('#/edit', options)
    await page.locator('.edit-table').waitFor()
    const before = requests.length
    await fromNothing(page)
    await soon(() => status(page)).not.toMatch(/contradiction/)
    await toggle(page, 'Member records: kiosk key').click()
    await soon(() => status(page)).toMatch(/1 contradiction to resolve/)
    expect(await effects(page)).toContain('undeclared-conflict')
    expect(await page.getByRole('button', { name: /Save .*policy-tests/ }).count()).toBe(0)

    const conflict = page.locator('.conflict')
    await conflict.getByRole('button', { name: 'Resolve' }).click()
    await soon(() => conflict.getByRole('alert').textContent()).toBe('Choose who decides, and write why.')
    await conflict.getByRole('radio', { name: 'The text' }).check()
    await conflict.getByLabel(/^Why/).fill('A kiosk stands where everybody sees it.')
    await conflict.getByRole('button', { name: 'Resolve' }).click()
    await soon(() => status(page)).not.toMatch(/contradiction/)

    const folder = newFolder()
    const file = await saved(page, folder, 'city-library.jsonc')
    const tests = await saved(page, folder, 'city-library.policy-tests.yaml')
    expect(await command(['matrix', 'lint', file])).toMatchObject({ code: 0 })
    const run = await command(['matrix', 'test', tests, '--matrix', file, '--coverage-min', '100'])
    expect([run.code, run.stdout]).toEqual([0, expect.stringMatching(/ tests passed/)])
    const serving = await startIdentity({ flags: { 'http.console': true, matrix: file } })
    const rules = await serving.ask({ path: '/console/rules.json' })
    expect(rules.json).toMatchObject({ matrix: { title: 'City library' } })
    expect(await page.locator('.command').textContent()).toContain(
      'matrix test city-library.policy-tests.yaml --matrix city-library.jsonc',
    )
    expect(readFileSync(file, 'utf8')).toContain('// A row for each API')

    // Scripts of the page are all that is asked for.
    expect(requests.slice(before).filter((url) => !/\/assets\/|^blob:/.test(url))).toEqual([])
    expect(complaints).toEqual([])
  })
})

describe.skipIf(!browser)('with a file', () => {
  const yaml = `# our doors\ntitle: Doors\ntokenKinds:\n  - id: pass # the day pass\n    title: pass
    family: pass\n    scopeLevel: account\n    header: X-Pass\n    issuedTo: user\n    obtained: { by: issue }
    permissionScopes: []\n    lifetimeSeconds: null\n    section: "1"\napis:
  # The hall is open.\n  - { id: hall, title: Hall, accepts: [pass], section: "2" }
  # The attic is not.\n  - { id: attic, title: Attic, accepts: [], section: "2" }\n`

  test('of YAML an edit changes its line alone, undo takes it back, and both sides are compared', async () => {
    const { page } = await open()
    await choose(page, yaml, 'doors.yaml')
    await soon(() => page.locator('.edit-name').textContent()).toBe('Your file doors.yaml')
    await soon(() => status(page)).toMatch(
      /^Opens 1 cell, closes \d\d cells\. 4 facts of kinds differ\.1 warning$/,
    )
    expect(await effects(page)).toMatch(/unopened-api.*line 18, apis\[1\]/s)
    await page.getByRole('radio', { name: 'What you began with' }).check()
    await soon(() => status(page)).toMatch(/^Opens and closes nothing\./)
    await toggle(page, 'Attic: pass').click()
    await soon(() => status(page)).toBe('Opens 1 cell, closes 0 cells.')
    expect(await effects(page)).toMatch(/Opened 1.*Attic.*TOKEN_KIND_NOT_ACCEPTED/s)
    const text = readFileSync(await saved(page, newFolder(), 'doors.yaml'), 'utf8')
    expect(text).toBe(yaml.replace('accepts: []', 'accepts: [pass]'))

    await press(page, 'Hall: change or remove')
    await press(page, 'Remove')
    await soon(() => page.locator('.edit-table tbody tr').count()).toBe(1)
    await press(page, 'Attic: change or remove')
    await press(page, 'Remove')
    await soon(() => page.getByRole('alert').textContent()).toMatch(/at least 1 item/)
    await press(page, 'Cancel')
    await press(page, 'Undo')
    await soon(() => page.locator('.edit-table tbody tr').count()).toBe(2)
    await press(page, 'Start over')
    await soon(() => status(page)).toMatch(/^Opens and closes nothing\./)
    // Starting over is undone as any step.
    await press(page, 'Undo')
    await soon(() => toggle(page, 'Attic: pass').getAttribute('aria-pressed')).toBe('true')
  })
})

const paste = (page: Page, text: string) => page.getByLabel('A table of a document').fill(text)

/** Copies a part of a web page, and pastes it by the keyboard. */
async function pasteMarkup(page: Page, plain: string, html: string): Promise<void> {
  const items = Object.entries({ 'text/plain': plain, 'text/html': html }).map(
    ([type, text]) => `'${type}': new Blob([${JSON.stringify(text)}], { type: '${type}' })`,
  )
  await page.evaluate(`navigator.clipboard.write([new ClipboardItem({ ${items.join(', ')} })])`)
  await page.getByLabel('A table of a document').focus()
  await page.keyboard.press('ControlOrMeta+V')
}

describe.skipIf(!browser).each([
  ['on a laptop', LAPTOP],
  ['on a phone', PHONE],
])('a pasted table, %s,', (_where, options) => {
  test('is read, asked about and shown, and its cells come into the matrix that is edited', async () => {
    const { page, requests, complaints } = await open('#/edit', options)
    await page.locator('.edit-table').waitFor()
    const before = requests.length
    await press(page, 'Paste a table')
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    await press(page, 'Take it over')
    await soon(() => dialog.getByRole('alert').textContent()).toContain('Paste a table first.')
    await paste(page, 'no table')
    await soon(() => dialog.locator('.pasted .problems').textContent()).toMatch(/is not read: expected .*\.$/)
    await paste(page, 'API\tstatic token\niam\tLimited\n<img src=x onerror=alert(1)>\tYes\n')
    await soon(() => dialog.locator('fieldset').textContent()).toContain('“Limited” (1 cell, line 2)')
    expect(await dialog.getByText('What it changes').count()).toBe(0)
    await dialog.getByLabel('“Limited”').selectOption('note')
    await dialog.getByText('What it changes').waitFor()
    expect(await dialog.locator('img').count()).toBe(0)
    expect(await dialog.textContent()).toMatch(/iam × static_token: Limited/)
    expect(await dialog.textContent()).toMatch(/Opened 2/)
    await dialog.getByRole('button', { name: 'Take it over' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await soon(() =>
      toggle(page, /^IAM \(users and roles\): static token/).getAttribute('aria-pressed'),
    ).toBe('true')
    await press(page, 'Undo')
    await soon(() =>
      toggle(page, /^IAM \(users and roles\): static token/).getAttribute('aria-pressed'),
    ).toBe('false')
    expect(requests.slice(before).filter((url) => !/\/assets\/|^blob:/.test(url))).toEqual([])
    expect(complaints).toEqual([])
  })
})

describe.skipIf(!browser)('a table of a web page', () => {
  test('is pasted with its markup, and becomes a new matrix', async () => {
    const { page, complaints } = await open()
    await press(page, 'Paste a table')
    await pasteMarkup(
      page,
      'API key\nLoans yes',
      '<meta charset="utf-8"><table><tr><th>API</th><th>Key</th></tr><tr><td>Loans</td><td>✓<img src="x"></td></tr></table>',
    )
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Put it into').selectOption({ label: 'a new matrix' })
    await dialog.getByLabel('Title of the matrix').fill('Library')
    await soon(() => dialog.textContent()).toMatch(/which is assumed/)
    await dialog.getByRole('button', { name: 'Take it over' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await soon(() => toggle(page, 'Loans: key').getAttribute('aria-pressed')).toBe('true')
    const file = await saved(page, newFolder(), 'library.jsonc')
    expect(await command(['matrix', 'lint', file])).toMatchObject({ code: 0 })
    expect(complaints).toEqual([])
  })
})

describe.skipIf(!browser)('for every user', () => {
  test('with the keyboard a cell is exchanged, arrows lead to others, and a dialog gives the focus back', async () => {
    const { page } = await open()
    const first = toggle(page, 'IAM (users and roles): account-scoped IAM token')
    await first.focus()
    expect(await first.getAttribute('aria-pressed')).toBe('true')
    await page.keyboard.press('Space')
    await soon(() => first.getAttribute('aria-pressed')).toBe('false')
    await soon(() => page.locator('output').first().textContent()).toMatch(/closes 1 cell/)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowRight')
    const focused = () => page.evaluate<string>('document.activeElement.getAttribute("aria-label")')
    expect(await focused()).toBe('Federations: project-scoped IAM token')
    for (const key of ['ArrowLeft', 'ArrowLeft', 'Enter']) await page.keyboard.press(key)
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await soon(focused).toBe('Federations: change or remove')
  })

  test.each(['light', 'dark'] as const)(
    'axe finds nothing, with contradictions and in each form (%s)',
    async (colorScheme) => {
      const { page } = await open('#/edit', { colorScheme })
      await toggle(page, /^Tickets: project-scoped/).click()
      await page.getByText('Resolved contradictions').click()
      expect(await accessibilityFaults(page)).toEqual([])
      for (const name of ['New matrix', 'Add an API', 'Add a kind of token', 'Add a statement']) {
        await press(page, name)
        await page.getByRole('dialog').waitFor()
        expect(await accessibilityFaults(page), name).toEqual([])
        await page.keyboard.press('Escape')
      }
      await press(page, 'Paste a table')
      await paste(page, 'API,static token,Key\nTickets,Limited,✓ (at night)\nTickets,–,–\n')
      await page.locator('dialog fieldset').waitFor()
      expect(await accessibilityFaults(page), 'with a question').toEqual([])
      await page.getByLabel('“Limited”').selectOption('yes')
      await page.getByText('What it changes').waitFor()
      await page.getByText('How it is read').click()
      expect(await accessibilityFaults(page), 'with a table').toEqual([])
    },
  )

  test.each([320, 360])('nothing is wider than %d pixels', async (width) => {
    const { page } = await open('#/edit', { ...PHONE, viewport: { width, height: 740 } })
    const overflows = () => page.evaluate<boolean>('document.documentElement.scrollWidth > window.innerWidth')
    await toggle(page, /^Tickets: project-scoped/).click()
    await page.getByText('Resolved contradictions').click()
    await soon(() => status(page)).toMatch(/contradiction/)
    expect(await overflows()).toBe(false)
    for (const name of ['New matrix', 'Add a kind of token', 'Add a statement']) {
      await press(page, name)
      await page.getByRole('dialog').waitFor()
      expect([name, await overflows()]).toEqual([name, false])
      await page.keyboard.press('Escape')
    }
    await press(page, 'Paste a table')
    await paste(page, `API,${'a'.repeat(60)} token\n${'b'.repeat(70)},✓ (${'c'.repeat(90)})\n`)
    await page.getByText('What it changes').waitFor()
    expect(await overflows()).toBe(false)
    const dialog = page.getByRole('dialog')
    expect(await dialog.evaluate((each) => each.scrollWidth > each.clientWidth)).toBe(false)
  })

  test('as one file it edits, too, asks no server, and says that it reads no YAML', async () => {
    const { page, requests } = await openPage(browser as Browser, `${fileOf(supportMatrix)}#/edit`, {
      ...LAPTOP,
      offline: true,
    })
    await toggle(page, 'IAM (users and roles): static token').click()
    await soon(() => status(page)).toBe('Opens 1 cell, closes 0 cells.')
    expect(await page.getByRole('button', { name: 'Paste a table' }).count()).toBe(0)
    await choose(page, 'title: x', 'x.yaml')
    await soon(() => page.getByRole('alert').textContent()).toMatch(/reads JSON/)
    const file = await saved(page, newFolder(), 'matrix.json')
    expect(await command(['matrix', 'lint', file])).toMatchObject({ code: 0 })
    expect(requests.filter((url) => !/^(data|blob):/.test(url))).toHaveLength(1)
  })
})
