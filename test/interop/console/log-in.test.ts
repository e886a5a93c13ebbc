/**
 * Logging in to the control panel in Chromium, as people do it: by a link, by an invitation, in two tabs, on
 * a phone, by keyboard alone.
 */
import type { Browser, Locator, Page, Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { PASSWORD, startPanel } from '../../support/console/control-panel.ts'
import {
  accessibilityFaults,
  LAPTOP,
  openPage,
  PHONE,
  soon,
  startChromium,
} from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { TESTER } from '../../support/sidecar/actor.ts'
import { ACCOUNT } from '../../support/sidecar/sidecar.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined

const { port, running, invite } = await startPanel()
const SERVED = `http://127.0.0.1:${port}/console/`

const open = (hash = '', options = {}) =>
  openPage(browser as Browser, `${SERVED}${hash}`, { ...LAPTOP, ...options })

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name })
const hasFocus = (element: Locator) => element.evaluate((found) => found.matches(':focus'))
const accountMenu = (page: Page) => page.getByRole('button', { name: /^Account menu/ })

async function loginLink(user: string): Promise<string> {
  const { links } = await running.sidecar.administration.controlPanel()
  const { secret } = await links.create(TESTER, ACCOUNT, user, 'login')
  return `#/link?secret=${secret.reveal()}`
}

async function logIn(page: Page, user: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('Account number').fill(ACCOUNT)
  await page.getByLabel('Name').fill(user)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
}

/** What a sidecar answers that has too much to do. */
const BUSY = { status: 503, json: { reason: 'UNAVAILABLE', message: 'the sidecar is busy' } }

/** All that a page could keep. */
const KEPT = 'JSON.stringify([localStorage, sessionStorage, document.cookie, history.state, location.href])'

describe.skipIf(!browser)('somebody without a password', () => {
  test('logs in by a link, which works once and leaves nothing behind', async () => {
    const link = await loginLink('olga')
    const secret = link.split('=')[1] as string
    const { page, requests, complaints } = await open(link)
    await heading(page, 'Hello, olga').waitFor()
    expect(page.url()).toBe(`${SERVED}#/overview`)
    expect(await page.evaluate<string>(KEPT)).not.toContain(secret)
    expect(requests.filter((url) => url.includes(secret))).toEqual([])
    expect(requests.filter((url) => !url.startsWith(SERVED) && !url.startsWith('data:'))).toEqual([])
    expect(complaints).toEqual([])
    const again = await open(link)
    await heading(again.page, 'This link cannot be used').waitFor()
    await again.page.getByRole('link', { name: 'Log in another way' }).click()
    await heading(again.page, 'Log in').waitFor()
  })

  test('accepts an invitation, on a phone', async () => {
    const secret = await invite('pia')
    const { page } = await open(`#/invitation?secret=${secret}`, PHONE)
    const first = page.getByLabel('Password', { exact: true })
    await first.fill('short')
    await page.getByLabel('Password again').fill('short')
    await page.getByRole('button', { name: 'Set password and log in' }).click()
    await soon(() => page.getByText('expected at least 12 characters').count()).toBe(1)
    await soon(() => hasFocus(first)).toBe(true)
    await first.fill(PASSWORD)
    await page.getByLabel('Password again').fill(`${PASSWORD} `)
    await page.keyboard.press('Enter')
    await soon(() => page.getByText('The two passwords differ.').count()).toBe(1)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByLabel('Password again').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await heading(page, 'Hello, pia').waitFor()
    expect(await page.evaluate<string>(KEPT)).not.toContain(secret)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    const used = await open(`#/invitation?secret=${secret}`)
    await heading(used.page, 'This invitation cannot be used').waitFor()
  })
})

describe.skipIf(!browser)('somebody with a password', () => {
  test('reads what is wrong in the words of the page, and comes to the page that they wanted', async () => {
    await acceptedBy('adam')
    const { page, complaints } = await open('#/overview')
    await heading(page, 'Log in').waitFor()
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
    await soon(() => page.getByText('Enter the account number.').count()).toBe(1)
    await logIn(page, 'adam', '<img src=x onerror=alert(1)>')
    await soon(() => page.getByText('The account number, the name or the password is wrong.').count()).toBe(1)
    await logIn(page, 'adam')
    await heading(page, 'Hello, adam').waitFor()
    // Of the wrong password alone: the policy refused nothing.
    expect(complaints.filter((each) => !each.includes('401'))).toEqual([])
  })

  test('uses the keyboard alone: logs in, opens the account menu, logs out', async () => {
    await acceptedBy('adam')
    const { page } = await open('#/login')
    await heading(page, 'Log in').waitFor()
    for (const typed of [ACCOUNT, 'adam', PASSWORD]) {
      await page.keyboard.type(typed)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    await heading(page, 'Hello, adam').waitFor()
    await accountMenu(page).focus()
    await page.keyboard.press('Enter')
    await soon(() => hasFocus(page.locator('.menu').getByRole('link', { name: 'Overview' }))).toBe(true)
    await page.keyboard.press('Escape')
    await soon(() => hasFocus(accountMenu(page))).toBe(true)
    await page.keyboard.press('Enter')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await heading(page, 'Log in').waitFor()
  })

  test('is logged in and out in every tab', async () => {
    const { page } = await open(await loginLink('adam'))
    await heading(page, 'Hello, adam').waitFor()
    const tab = await page.context().newPage()
    await tab.goto(`${SERVED}#/matrix`)
    await accountMenu(tab).click()
    await tab.getByRole('button', { name: 'Log out' }).click()
    await heading(page, 'Log in').waitFor()
    await page.goto(`${SERVED}${await loginLink('adam')}`)
    await heading(tab, 'Hello, adam').waitFor()
  })

  async function acceptedBy(user: string): Promise<void> {
    const { page } = await open(`#/invitation?secret=${await invite(user)}`)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByLabel('Password again').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await heading(page, `Hello, ${user}`).waitFor()
  }
})

describe.skipIf(!browser)('the page', () => {
  test('somebody who opens the address of the port comes to it', async () => {
    const { page } = await openPage(browser as Browser, `http://127.0.0.1:${port}`)
    await page.getByRole('link', { name: 'Log in' }).waitFor()
    expect(page.url()).toBe(`${SERVED}`)
  })

  test.each(['light', 'dark'] as const)('axe finds nothing (%s)', async (colorScheme) => {
    const { page } = await open('#/login', { colorScheme })
    await heading(page, 'Log in').waitFor()
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
    expect(await accessibilityFaults(page), 'log in').toEqual([])
    await page.getByText('Password forgotten?').waitFor()
    await page.getByRole('radio', { name: 'Operator' }).check()
    // An operator has no password that an invitation would replace.
    await heading(page, 'Log in as an operator').waitFor()
    await soon(() => page.locator('.card').textContent()).toMatch(/caller token.*administrator-token/s)
    expect(await page.locator('.card').textContent()).not.toMatch(/Password|invitation|passkey/)
    expect(await accessibilityFaults(page), 'operator').toEqual([])
    await page.goto(`${SERVED}${await loginLink('olga')}`)
    await heading(page, 'Hello, olga').waitFor()
    await accountMenu(page).click()
    expect(await accessibilityFaults(page), 'overview').toEqual([])
    await page.goto(`${SERVED}#/operator/callers`)
    await heading(page, 'This page is not for you').waitFor()
    expect(await accessibilityFaults(page), 'not for you').toEqual([])
  })

  test.each<[name: string, answer: (route: Route) => Promise<void>, says: RegExp]>([
    ['503', (route) => route.fulfill(BUSY), /busy/],
    ['nothing', (route) => route.abort(), /does not answer/],
  ])(
    'logging out that is answered by %s says so, and the session is not called ended',
    async (_, answer, says) => {
      const { page, complaints } = await open(await loginLink('adam'))
      await heading(page, 'Hello, adam').waitFor()
      await page.route('**/console/session/end', answer)
      await accountMenu(page).click()
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.locator('.toast[data-kind="failed"]').getByText(says).waitFor()
      await heading(page, 'Hello, adam').waitFor()
      expect(complaints.filter((each) => !/503|ERR_FAILED/.test(each))).toEqual([])
    },
  )

  test('a link and an invitation are tried again where the sidecar has no answer, and ask for it after F5', async () => {
    const { page } = await open('#/login')
    await page.route('**/console/session/link', (route) => route.fulfill(BUSY), { times: 1 })
    await page.goto(`${SERVED}${await loginLink('olga')}`)
    await heading(page, 'You are not logged in yet').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await heading(page, 'Hello, olga').waitFor()

    const guest = await open('#/login')
    await guest.page.route('**/console/session/invitation', (route) => route.abort(), { times: 1 })
    await guest.page.goto(`${SERVED}#/invitation?secret=${await invite('pia')}`)
    await heading(guest.page, 'The invitation cannot be opened now').waitFor()
    await guest.page.getByRole('button', { name: 'Try again' }).click()
    await heading(guest.page, 'Choose your password').waitFor()
    await guest.page.reload()
    await heading(guest.page, 'Open the link again').waitFor()
    expect(await accessibilityFaults(guest.page)).toEqual([])
    await guest.page.goto(`${SERVED}#/link`)
    await heading(guest.page, 'Open the link again').waitFor()
    await guest.page.goto(`${SERVED}${await loginLink('olga')}`)
    await heading(guest.page, 'Hello, olga').waitFor()
  })

  test('a sidecar that is away is waited for, and nothing that was typed is lost', async () => {
    const { page } = await open('#/login')
    await page.getByLabel('Name').fill('olga')
    await page.context().setOffline(true)
    await logIn(page, 'olga')
    await soon(() => page.getByText(/The sidecar does not answer/).count()).toBeGreaterThan(0)
    await page.context().setOffline(false)
    expect(await page.getByLabel('Name').inputValue()).toBe('olga')
    await page.keyboard.press('Enter')
    await soon(() => page.getByText('The account number, the name or the password is wrong.').count()).toBe(1)
  })
})
