/**
 * Logging in to the control panel in Chromium, as people do it: by a link, by an invitation, in two tabs, on
 * a phone, by keyboard alone.
 */
import type { Browser, Locator, Page } from 'playwright-core'
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

/** All that a page could keep. */
const KEPT = 'JSON.stringify([localStorage, sessionStorage, document.cookie, history.state, location.href])'

describe.skipIf(!browser)('a user without a password', () => {
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

describe.skipIf(!browser)('a user with a password', () => {
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

  async function acceptedBy(user: string): Promise<void> {
    const { page } = await open(`#/invitation?secret=${await invite(user)}`)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByLabel('Password again').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await heading(page, `Hello, ${user}`).waitFor()
  }
})

describe.skipIf(!browser)('the page', () => {
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
})
