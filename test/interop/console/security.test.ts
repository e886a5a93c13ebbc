/**
 * Sessions and security of the profile in Chromium, with a sidecar, a passkey of Chromium's own, and an app
 * for codes; and every view on a phone.
 */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { PASSWORD } from '../../support/console/control-panel.ts'
import { codeAt, wrongCodeAt } from '../../support/identity/totp.ts'
import { accessibilityFaults, PHONE, soon, startChromium } from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import {
  addKey,
  button,
  dialog,
  expectNoTrace,
  focused,
  HASHES,
  overflows,
  startPanelInChromium,
  textOf,
} from '../../support/interop/profile.ts'
import { ACCOUNT } from '../../support/sidecar/sidecar.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined
const { panel, clock, now, url, openFor, openWith, logIn } = await startPanelInChromium(browser)

describe.skipIf(!browser)('sessions', () => {
  test('this one is marked; another one is ended, and then all others', async () => {
    await panel.loggedIn('adam')
    const [here, ...others] = await Promise.all([1, 2, 3, 4].map(() => logIn('adam')))
    const { page } = await openWith(here?.cookie ?? '', HASHES.sessions)
    const items = page.getByRole('listitem').filter({ hasText: '127.0.0.1' })
    // Accepting the invitation began one, too.
    await soon(() => items.count()).toBe(5)
    expect(await items.first().textContent()).toMatch(/Chrome on Linux.*This session.*From 127\.0\.0\.1/s)
    await button(page, /^End: /)
      .first()
      .click()
    await soon(() => items.count()).toBe(4)
    const live = async () =>
      (await Promise.all(others.map((each) => each.get('/console/session')))).filter(
        (each) => each.json.signedIn,
      ).length
    expect(await live()).toBeGreaterThanOrEqual(2)
    await soon(() => focused(page)).toMatch(/^End: /)
    await button(page, 'End all others').click()
    await dialog(page).getByRole('button', { name: 'End all others' }).click()
    await soon(live).toBe(0)
    await soon(() => textOf(page)).toContain('You are not logged in anywhere else.')
    // The button is gone, so the focus goes to the top of the page.
    await soon(() => focused(page)).toBe('Sessions')
  })
})

describe.skipIf(!browser)('security', () => {
  test('one-time codes are set up, asked for at the next login, and removed', async () => {
    const { page } = await openFor('adam', HASHES.security)
    await soon(() => textOf(page)).toContain('You log in with your password alone.')
    await button(page, 'Set up').click()
    const secret = ((await page.locator('.code-secret code').textContent()) ?? '').replaceAll(' ', '')
    expect(
      await page
        .getByRole('img', { name: /QR code/ })
        .locator('path')
        .getAttribute('d'),
    ).toMatch(/^M\d/)
    await page.getByLabel('Code that the app shows now').fill(wrongCodeAt(secret, now()))
    await button(page, 'Confirm').click()
    await soon(() => dialog(page).textContent()).toContain('The code is wrong or has been used.')
    await page.getByLabel('Code that the app shows now').fill(codeAt(secret, now()))
    await button(page, 'Confirm').click()
    await soon(() => textOf(page)).toContain('You log in with your password and a one-time code.')
    await expectNoTrace(page, secret)
    // A code is used once, so the app shows the next one.
    clock.aheadMs += 30_000
    const other = (await openWith('', HASHES.security)).page
    await other.getByLabel('Account number').fill(ACCOUNT)
    await other.getByLabel('Name').fill('adam')
    await other.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await button(other, 'Log in').click()
    await other.getByLabel('One-time code').fill(codeAt(secret, now()))
    await button(other, 'Log in').click()
    await button(other, 'Remove').click()
    await soon(() => dialog(other).textContent()).toContain('You then log in with your password alone.')
    await dialog(other).getByRole('button', { name: 'Remove' }).click()
    await soon(() => textOf(other)).toContain('You log in with your password alone.')
  })

  test('a passkey is added, logs in without a password, and is removed', async () => {
    const { page } = await openFor('pia', HASHES.security, { host: 'localhost' })
    await withAuthenticator(page)
    await button(page, 'Add a passkey').click()
    await page.getByLabel('Name of the passkey').fill('Phone <i>of pia</i>')
    await button(page, 'Add').click()
    await soon(() => textOf(page)).toMatch(/You log in with a passkey\..*Phone <i>of pia<\/i>/s)
    await button(page, 'Add a passkey').click()
    await page.getByLabel('Name of the passkey').fill('again')
    await button(page, 'Add').click()
    await soon(() => dialog(page).textContent()).toContain('This device has a passkey for you already.')
    await page.keyboard.press('Escape')
    await button(page, /^Account menu/).click()
    await button(page, 'Log out').click()
    await button(page, 'Log in with a passkey').click()
    await page.goto(url(HASHES.security, 'localhost'))
    await soon(() => textOf(page)).toContain('Last used today')
    await button(page, 'Remove Phone <i>of pia</i>').click()
    await dialog(page).getByRole('button', { name: 'Remove' }).click()
    await soon(() => textOf(page)).toContain('You have no passkey yet.')
    await soon(() => focused(page)).toBe('Security')
  })

  test('the password is changed with the current one, and other sessions end', async () => {
    const { page } = await openFor('pia', HASHES.security)
    const other = await logIn('pia')
    await button(page, 'Change password').click()
    const change = async (current: string, password: string, again = password) => {
      await page.getByLabel('Current password').fill(current)
      await page.getByLabel('New password', { exact: true }).fill(password)
      await page.getByLabel('New password again').fill(again)
      await dialog(page).getByRole('button', { name: 'Change password' }).click()
    }
    await change(PASSWORD, 'ten green bottles', 'ten brown bottles')
    await soon(() => dialog(page).textContent()).toContain('The two passwords differ.')
    await change('something else', 'ten green bottles')
    await soon(() => dialog(page).textContent()).toContain('The current password is wrong.')
    expect(
      await page
        .locator('dialog input:not([hidden])')
        .evaluateAll((inputs) => inputs.map((input) => input.getAttribute('autocomplete'))),
    ).toEqual(['current-password', 'new-password', 'new-password'])
    await change(PASSWORD, 'ten green bottles')
    await soon(() => page.locator('.toasts').textContent()).toContain('Your other sessions have ended.')
    expect((await other.get('/console/session')).json.signedIn).toBe(false)
    await soon(() => focused(page)).toBe('Change password')
  })
})

describe.skipIf(!browser)('for every user', () => {
  test.each(['light', 'dark'] as const)('axe finds nothing in any view (%s)', async (colorScheme) => {
    const { page } = await openFor('olga', HASHES.keys, { colorScheme })
    const look = async (what: string) => expect(await accessibilityFaults(page), what).toEqual([])
    const go = (hash: string) => page.goto(url(hash))
    await addKey(page, `axe ${colorScheme}`)
    await button(page, `Revoke: axe ${colorScheme}`).click()
    await look('keys')
    await button(page, 'Add Key').click()
    await page.getByLabel('Key name').fill(`axe too ${colorScheme}`)
    await look('add')
    await button(page, 'Add').click()
    await page.getByLabel('API key (static token)').waitFor()
    await look('secret')
    await button(page, 'I have saved it').click()
    await go(HASHES.tokens)
    const create = page.getByRole('button', { name: /^(Create|Copy) token$/ })
    await create.waitFor()
    await look('tokens')
    await create.click()
    await button(page, 'Reissue token').click()
    await look('reissue')
    await button(page, 'Reissue').click()
    await page.getByLabel('Token', { exact: true }).waitFor()
    await look('token')
    await go(HASHES.sessions)
    await page.getByText('This session').waitFor()
    await look('sessions')
    await go(HASHES.security)
    await button(page, 'Set up').click()
    await page.getByRole('img', { name: /QR code/ }).waitFor()
    await look('code')
    await page.keyboard.press('Escape')
    await look('security')
    await button(page, 'Change password').click()
    await look('password')
  })

  test('everything fits 320 pixels, and a finger is enough', async () => {
    const { page } = await openFor('olga', HASHES.keys, { ...PHONE, viewport: { width: 320, height: 640 } })
    const name = `phone ${'x'.repeat(120)}`
    await button(page, 'Add Key').tap()
    await page.getByLabel('Key name').fill(name)
    await button(page, 'Add').tap()
    await page.getByLabel('API key (static token)').waitFor()
    expect(await overflows(page), 'secret').toBe(false)
    await button(page, 'I have saved it').tap()
    await button(page, `Revoke: ${name}`).tap()
    await button(page, `Undo: ${name}`).waitFor()
    expect(await overflows(page), 'keys').toBe(false)
    expect(await accessibilityFaults(page)).toEqual([])
    for (const hash of [HASHES.tokens, HASHES.sessions, HASHES.security]) {
      await page.goto(url(hash))
      await page.locator('.panel-page h1').waitFor()
      await page.waitForLoadState('networkidle')
      expect(await overflows(page), hash).toBe(false)
    }
  })
})

/** An authenticator of Chromium's own, which agrees to everything. */
async function withAuthenticator(page: Page): Promise<void> {
  const client = await page.context().newCDPSession(page)
  await client.send('WebAuthn.enable')
  await client.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
      ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
    },
  })
}
