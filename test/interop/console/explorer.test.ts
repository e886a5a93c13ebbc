/**
 * The explorer in Chromium, as a person uses it: each story, with the keyboard alone, on a phone, as one
 * file.
 */
import type { Browser, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { supportMatrix } from '../../../matrix/index.ts'
import { startIdentity } from '../../support/identity/identity.ts'
import {
  accessibilityFaults,
  cell,
  fileOf,
  LAPTOP,
  openPage,
  PHONE,
  panel,
  rowsOf,
  soon,
  startChromium,
} from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { newFile } from '../../support/suite/resources.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined

const { port, staticToken } = await startIdentity({ flags: { 'http.console': true, 'http.connect': true } })
const SERVED = `http://127.0.0.1:${port}/console/`

const open = (hash = '', options = {}) =>
  openPage(browser as Browser, `${SERVED}${hash}`, { ...LAPTOP, ...options })
describe.skipIf(!browser)('on a laptop', () => {
  test('the whole matrix is seen at once, from this sidecar alone, and nothing is refused by the policy', async () => {
    const { page, complaints, requests } = await open()
    await rowsOf(page).first().waitFor()
    expect(await rowsOf(page).count()).toBe(30)
    const last = await rowsOf(page).last().boundingBox()
    expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual(900)
    expect(requests.filter((url) => !url.startsWith(SERVED) && !url.startsWith('data:'))).toEqual([])
    expect(complaints).toEqual([])
  })

  test('a search finds a row, its cell opens with both sides of the conflict, and the link leads there', async () => {
    const { page } = await open()
    await page.getByRole('searchbox').fill('audit')
    expect(await rowsOf(page).count()).toBe(1)
    await cell(page, 'audit-logs', 2).click()
    await soon(() => panel(page).textContent()).toMatch(/does not accept a project-scoped IAM token/)
    expect(await panel(page).textContent()).toMatch(
      /The row “Audit logs” marks the project-scoped IAM token with ✗.*§5\.3.*audit logs.*The table decides/s,
    )
    await page.getByRole('button', { name: 'Copy link' }).click()
    const link = await page.evaluate<string>('navigator.clipboard.readText()')
    const other = await openPage(browser as Browser, link)
    await soon(() => panel(other.page).textContent()).toMatch(/does not accept a project-scoped IAM token/)
    await page.goBack()
    await soon(() => panel(page).textContent()).toMatch(/Where the source contradicts itself/)
  })

  test('pasted headers are judged in the page, and are sent only to verify, to this sidecar', async () => {
    const { page, requests } = await open('#/try')
    await page.getByRole('combobox', { name: 'API' }).fill('balance')
    await page.getByRole('option', { name: /Balance/ }).click()
    const before = requests.length
    await page.getByLabel('Request headers').fill(`Cookie: a=b\nX-Token: ${staticToken}`)
    await soon(() => page.locator('.result').textContent()).toMatch(
      /A credential was found in X-Token\..*Allowed/s,
    )
    expect(requests).toHaveLength(before)
    expect(page.url()).not.toContain(staticToken)
    const stored = 'JSON.stringify([localStorage, sessionStorage, document.cookie, history.state])'
    expect(await page.evaluate<string>(stored)).not.toContain(staticToken)
    await page.getByRole('button', { name: 'Verify with this sidecar' }).click()
    await soon(() => page.locator('.verification').textContent()).toMatch(/The sidecar answered.*Allowed/s)
    expect(requests.slice(before)).toEqual([
      `http://127.0.0.1:${port}/portcullis.v1.AuthorizationService/Check`,
    ])
    // As a service asks: for a resource of another account the same token is denied.
    await page.getByText('Account, project and address').click()
    await page.getByLabel('Account that owns the resource').fill('1')
    await page.getByRole('button', { name: 'Verify with this sidecar' }).click()
    await soon(() => page.locator('.verification').textContent()).toMatch(
      /The sidecar answered.*Denied.*ACCOUNT/s,
    )
    expect(page.url()).not.toContain(staticToken)
    await page.getByLabel('Request headers').fill('Authorization: Bearer x')
    await soon(() => page.locator('.result').textContent()).toMatch(/CREDENTIAL_MISSING.*Authorization/s)
  })

  test('a plan has the fewest tokens, with commands to copy', async () => {
    const { page } = await open('#/plan?apis=cdn')
    await page.getByRole('combobox', { name: 'Add an API' }).fill('reports')
    await page.getByRole('option', { name: /Reports/ }).click()
    await soon(() => page.locator('.result').textContent()).toMatch(
      /2 tokens.*Project-scoped IAM token.*Static token/s,
    )
    await page.locator('.command', { hasText: 'on a command line' }).getByRole('button').click()
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(
      'npx --no-install portcullis plan cdn reports',
    )
    await page.getByRole('button', { name: 'Remove CDN' }).click()
    await soon(() => page.url()).toMatch(/#\/plan\?apis=reports$/)
  })

  const otherMatrix = {
    ...supportMatrix,
    apis: supportMatrix.apis.map((api) =>
      api.id === 'tickets' ? { ...api, accepts: ['iam_token_account_scoped'] } : api,
    ),
  }

  test('another matrix is compared: the cells that it opens come first; an invalid file says why', async () => {
    const { page, requests } = await open('#/compare')
    const before = requests.length
    await page.locator('input[type=file]').setInputFiles(newFile(JSON.stringify(otherMatrix), 'other.json'))
    await soon(() => page.locator('.result').textContent()).toMatch(
      /not finished.*contradiction about `tickets`.*Compared with other\.json.*Opened 1.*Closed 1/s,
    )
    const sections = await page.locator('.changes tbody').allTextContents()
    expect(sections[0]).toMatch(/^Tickets tickets\s*Account-scoped IAM token/)
    await page.locator('input[type=file]').setInputFiles(newFile('{ "title": 1 }', 'broken.json'))
    await soon(() => page.getByRole('alert').textContent()).toMatch(/not a valid matrix.*title: expected/s)
    expect(requests.slice(before).filter((url) => !url.includes('/assets/'))).toEqual([])
  })

  test('a file that is dropped is compared, also beside the field', async () => {
    const { page } = await open('#/compare')
    const devtools = await page.context().newCDPSession(page)
    const data = {
      items: [],
      files: [newFile(JSON.stringify(otherMatrix), 'dropped.json')],
      dragOperationsMask: 1,
    }
    await page.locator('.drop').waitFor()
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
      // Far below the field: a browser would open the file there.
      await devtools.send('Input.dispatchDragEvent', { type, x: 720, y: 800, data })
      if (type === 'dragOver') await soon(() => page.locator('.drop').getAttribute('data-over')).toBe('true')
    }
    await soon(() => page.locator('.result').textContent()).toMatch(/Compared with dropped\.json.*Opened 1/s)
    expect(page.url()).toContain('#/compare')
    expect(await page.locator('.drop').getAttribute('data-over')).toBe('false')
  })

  test('no line of a message ends within an id', async () => {
    const { page } = await open('#/matrix?cell=cdn~iam_token_project_scoped')
    const lines = `[...document.querySelectorAll('.verdict p code')].map((code) => code.getClientRects().length)`
    await soon(() => page.evaluate<number[]>(lines)).toEqual([1, 1, 1, 1])
  })

  test.each(['light', 'dark'] as const)('axe finds nothing in any view (%s)', async (colorScheme) => {
    const { page } = await open('', { colorScheme })
    for (const hash of [
      ...['#/matrix', '#/matrix?cell=audit-logs~iam_token_project_scoped', '#/matrix?mode=strict&cell=cdn'],
      ...['#/matrix?q=nothing-fits', '#/try?api=cdn', '#/try', '#/plan', '#/plan?apis=cdn,iam,reports'],
      ...['#/compare', '#/edit'],
    ]) {
      // Some views are loaded when they are opened first: the heading must not be that of the one before.
      await page.goto('about:blank')
      await page.goto(`${SERVED}${hash}`)
      await page.locator('main h1').waitFor({ state: 'attached' })
      expect(await accessibilityFaults(page), hash).toEqual([])
    }
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    expect(await accessibilityFaults(page), 'help').toEqual([])
  })
})

describe.skipIf(!browser)('with the keyboard alone', () => {
  const focused = (page: Page) => page.evaluate<string>('document.activeElement?.textContent?.trim()')

  test('search, move, open, close, and plan', async () => {
    const { page } = await open()
    await rowsOf(page).first().waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('dns')
    await soon(() => rowsOf(page).count()).toBe(3)
    // Past the filters into the table, which is one stop.
    const isInTable = () => page.evaluate<boolean>(`document.activeElement?.hasAttribute('data-place')`)
    for (let stops = 0; stops < 12 && !(await isInTable()); stops++) await page.keyboard.press('Tab')
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key)
    await soon(() => focused(page)).toBe('Allowed')
    await page.keyboard.press('Enter')
    await soon(() => focused(page)).toMatch(/DNS hosting \(legacy\)/)
    await page.keyboard.press('Escape')
    await soon(() => focused(page)).toBe('Allowed')
    await page.keyboard.press('3')
    await soon(() => page.url()).toContain('#/plan')
    await page.getByRole('combobox', { name: 'Add an API' }).focus()
    await page.keyboard.type('cdn')
    await page.keyboard.press('Enter')
    await soon(() => page.locator('.result').textContent()).toMatch(/1 token/)
  })

  test('keys work as soon as there are rows, however late the next frame comes', async () => {
    const { page } = await openPage(browser as Browser, 'about:blank')
    await page.addInitScript(`{
      const later = setTimeout
      window.requestAnimationFrame = (draw) => later(() => draw(performance.now()), 2_000)
      window.setTimeout = (work, ms) => later(work, 2_000 + (ms ?? 0))
    }`)
    await page.goto(SERVED)
    await rowsOf(page).first().waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('dns')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    expect(await page.getByRole('complementary').textContent()).toMatch(/^DNS hosting/)
  })
})

describe.skipIf(!browser)('on a phone', () => {
  test.each([320, 360])('the table, a cell and the other pages fit %d pixels', async (width) => {
    const { page } = await openPage(browser as Browser, SERVED, {
      ...PHONE,
      viewport: { width, height: 740 },
    })
    await rowsOf(page).first().waitFor()
    const overflows = () => page.evaluate<boolean>('document.documentElement.scrollWidth > window.innerWidth')
    await cell(page, 'iam', 1).tap()
    await soon(() => panel(page).textContent()).toMatch(/accepts an account-scoped IAM token/)
    expect(await overflows()).toBe(false)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Close' }).tap()
    for (const name of ['Try it', 'Plan', 'Compare', 'Edit']) {
      await page.getByRole('link', { name }).tap()
      expect(await overflows(), name).toBe(false)
    }
  })
})

describe.skipIf(!browser)('as one file', () => {
  test('it works without a network, asks no server, and has nothing to verify with', async () => {
    const { page, requests, complaints } = await openPage(browser as Browser, fileOf(supportMatrix), {
      ...LAPTOP,
      offline: true,
    })
    expect(await rowsOf(page).count()).toBe(30)
    await page.keyboard.press('2')
    await page.getByRole('combobox', { name: 'API' }).fill('cdn')
    await page.getByRole('option', { name: /CDN/ }).click()
    await page.getByLabel('Request headers').fill('X-Token: abc')
    await soon(() => page.locator('.result').textContent()).toMatch(/TOKEN_KIND_NOT_ACCEPTED/)
    expect(await page.getByRole('button', { name: 'Verify with this sidecar' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    expect(requests.filter((url) => !url.startsWith('data:'))).toHaveLength(1)
    expect(complaints).toEqual([])
    // Nor can a script that got in somehow.
    const refused = await page.evaluate<string>(`fetch('https://example.com').then(String, String)`)
    expect(refused).toMatch(/TypeError/)
    await soon(() => complaints.join()).toMatch(/Content Security Policy/)
  })

  test('texts with markup are texts', async () => {
    const evil = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
    const apis = supportMatrix.apis.map((api) => ({ ...api, title: `${evil} ${api.title}` }))
    const { page, complaints } = await openPage(
      browser as Browser,
      fileOf({ ...supportMatrix, title: evil, apis }),
    )
    await cell(page, 'cdn', 2).click()
    await soon(() => panel(page).textContent()).toContain(`${evil} CDN`)
    expect(await page.locator('#app img, #app script').count()).toBe(0)
    expect([await page.title(), complaints]).toEqual(['Matrix · Portcullis', []])
  })
})
