/**
 * The page in Chromium where a sidecar shows its matrix to its callers and to people who are logged in alone.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { supportMatrix } from '../../../matrix/index.ts'
import { PASSWORD, startPanel } from '../../support/console/control-panel.ts'
import { startIdentity } from '../../support/identity/identity.ts'
import { accessibilityFaults, openPage, rowsOf, soon, startChromium } from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { keptBy } from '../../support/interop/panel-page.ts'
import { ACCOUNT } from '../../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../../support/suite/resources.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined

/** Of an API that only these sidecars know. */
const SECRET_API = 'An API that no stranger sees'
const [first, ...others] = supportMatrix.apis
const matrix = { ...supportMatrix, apis: [{ ...first, title: SECRET_API }, ...others] }

/** gRPC on a Unix socket: not every program of this machine may call. */
const flags = () => ({
  ...{ 'http.console': true, 'http.connect': true },
  'grpc.address': `unix:${join(newFolder(), 'grpc.sock')}`,
  matrix: newFile(JSON.stringify(matrix), 'matrix.json'),
})

const SECRET_ROW = (page: Page) => rowsOf(page).filter({ hasText: SECRET_API })
const hasFocus = (element: Locator) => element.evaluate((found) => found.matches(':focus'))
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })
/** Of the answer that asks for a credential. */
const withoutRefusals = (complaints: readonly string[]) => complaints.filter((each) => !each.includes('401'))

describe.skipIf(!browser)('with the control panel', async () => {
  const { port, loggedIn } = await startPanel({ flags: flags() })
  const SERVED = `http://127.0.0.1:${port}/console/`
  const open = (hash = '') => openPage(browser as Browser, `${SERVED}${hash}`)

  const logOut = async (page: Page) => {
    await page.getByRole('button', { name: /^Account menu/ }).click()
    await page.getByRole('button', { name: 'Log out' }).click()
  }

  test('a stranger sees no matrix; a user who logs in sees the page that they wanted, until they log out', async () => {
    await loggedIn('adam')
    const hash = `#/matrix?q=${encodeURIComponent(SECRET_API)}`
    const { page, complaints } = await open(hash)
    await heading(page, 'Log in').waitFor()
    await page.getByText('This sidecar shows its matrix only to people who are logged in.').waitFor()
    expect(await page.content()).not.toContain(SECRET_API)
    expect(await accessibilityFaults(page)).toEqual([])
    const account = page.getByLabel('Account number')
    await soon(() => hasFocus(account)).toBe(true)
    await account.fill(ACCOUNT)
    await page.getByLabel('Name').fill('adam')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await SECRET_ROW(page).waitFor()
    expect(new URL(page.url()).hash).toBe(new URL(hash, SERVED).hash)
    await soon(() => hasFocus(page.locator('#content'))).toBe(true)
    await page.reload()
    await SECRET_ROW(page).waitFor()
    await logOut(page)
    await heading(page, 'Log in').waitFor()
    await page.goto(`${SERVED}#/matrix`)
    await heading(page, 'Log in').waitFor()
    expect(await page.content()).not.toContain(SECRET_API)
    expect(withoutRefusals(complaints)).toEqual([])
  })
})

describe.skipIf(!browser)('without a control panel', async () => {
  const { port, running } = await startIdentity({ flags: flags() })
  const SERVED = `http://127.0.0.1:${port}/console/`
  const callerToken = readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()

  test('a caller token opens the page and verifies, and the page keeps it nowhere', async () => {
    const { page, requests, complaints } = await openPage(browser as Browser, `${SERVED}#/try?api=iam`)
    await heading(page, 'Caller token needed').waitFor()
    expect(await page.content()).not.toContain(SECRET_API)
    expect(await accessibilityFaults(page)).toEqual([])
    const field = page.getByLabel('Caller token')
    await soon(() => hasFocus(field)).toBe(true)
    expect(await field.getAttribute('type')).toBe('password')
    const tell = async (token: string, problem: string) => {
      await field.fill(token)
      await page.keyboard.press('Enter')
      await soon(() => page.getByRole('alert').allTextContents()).toEqual([expect.stringContaining(problem)])
      await soon(() => hasFocus(field)).toBe(true)
    }
    await tell(' ', 'Enter the caller token.')
    await tell('x'.repeat(40), 'the caller token is unknown, expired or withdrawn')
    await tell('κλειδί', 'The sidecar gave no answer.')
    expect(await accessibilityFaults(page)).toEqual([])

    await field.fill(callerToken)
    await page.keyboard.press('Enter')
    await page.getByLabel('Request headers').fill('X-Auth-Token: unknown')
    await page.getByRole('button', { name: 'Verify with this sidecar' }).click()
    await soon(() => page.getByRole('main').textContent()).toContain('CREDENTIAL_INVALID')
    await page.getByRole('link', { name: 'Matrix', exact: true }).click()
    await SECRET_ROW(page).waitFor()
    expect(await keptBy(page)).not.toContain(callerToken)
    expect(await page.content()).not.toContain(callerToken)
    expect(requests.filter((url) => url.includes(callerToken))).toEqual([])
    expect(withoutRefusals(complaints)).toEqual([])
    await page.reload()
    await heading(page, 'Caller token needed').waitFor()
  })
})
