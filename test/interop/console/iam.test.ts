/**
 * IAM in Chromium, as the owner of an account and an `iam.admin` use it: service users and control panel
 * users.
 */
import type { Browser, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { applyFile } from '../../../sidecar/authority/administration/directory-file.ts'
import { startPanel } from '../../support/console/control-panel.ts'
import { askAt, loginBody, TOKENS } from '../../support/identity/identity.ts'
import { accessibilityFaults, openPage, PHONE, soon, startChromium } from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { dialogOf, keptBy, openAs, pageOf, rowOf, tabTo } from '../../support/interop/panel-page.ts'
import { TESTER } from '../../support/sidecar/actor.ts'
import { ACCOUNT } from '../../support/sidecar/sidecar.ts'

const started = await obtained('Chromium', startChromium)

const browser = started.ok ? started.value : undefined

const panel = await startPanel()
const { administration } = panel.running.sidecar
const MARKUP = '<img src=x onerror=document.title="run">'
await applyFile(administration, TESTER, {
  accounts: [
    {
      account: ACCOUNT,
      projects: ['beta', 'gamma rays'],
      service_users: [
        { name: 'worker', permissions: [{ scope: 'account' }] },
        { name: MARKUP, permissions: [{ scope: 'projects', projects: ['alpha'] }] },
        { name: 'חשבון 7', permissions: [] },
        { name: 'x'.repeat(255), permissions: [] },
      ],
      control_panel_users: [{ name: 'rita', static_tokens: ['laptop', 'tablet'] }, { name: MARKUP + 2 }],
    },
  ],
})

const open = (user: string, hash: string, options = {}) =>
  openAs(browser as Browser, panel, user, hash, options)

const nameIn = (page: Page) => dialogOf(page).getByRole('textbox', { name: 'Name', exact: true })

/** The token that a login gives, or the status. */
async function tokenOf(user: string, password: string, project?: string): Promise<string | number> {
  const body = loginBody({ user, account: ACCOUNT, password, ...(project !== undefined && { project }) })
  const { status, headers } = await askAt(panel.port, { method: 'POST', path: TOKENS, body })
  return headers['x-subject-token'] ?? status
}

const isAllowed = async (api: string, value: string | number, project?: string) => {
  const target = { account: ACCOUNT, ...(project !== undefined && { project }) }
  const question = { api, credentials: { 'X-Auth-Token': String(value) }, target }
  return (await panel.running.client.check(question)).reason
}

describe.skipIf(!browser)('service users', () => {
  test('one is created with the keyboard alone, its password obtains a token, and a request is checked', async () => {
    const { page, complaints } = await open('olga', '#/iam/service-users')
    await rowOf(page, 'worker').waitFor()
    await tabTo(page, 'Create service user')
    await page.keyboard.press('Enter')
    await nameIn(page).waitFor()
    await page.keyboard.type('deploy $HOME')
    await page.keyboard.press('Enter')
    const password = await page.getByLabel('Password', { exact: true }).inputValue()
    await soon(() => dialogOf(page).textContent()).toMatch(
      /portcullis issue --account 123456 --user 'deploy \$HOME'/,
    )
    const token = await tokenOf('deploy $HOME', password)
    expect(await isAllowed('balance', token)).toBe('ALLOWED')
    expect(await keptBy(page)).not.toContain(password)
    await tabTo(page, 'I have saved it')
    await page.keyboard.press('Enter')
    await soon(() => page.getByRole('complementary').textContent()).toMatch(
      /May be obtained for every project/,
    )
    expect(page.url()).toContain('user=deploy')
    expect(await page.content()).not.toContain(password)
    await page.keyboard.press('Escape')
    await soon(() => page.getByRole('complementary').count()).toBe(0)
    await soon(() => page.evaluate('document.activeElement.textContent')).toContain('deploy $HOME')
    expect(complaints).toEqual([])
  })

  test('a replaced password revokes the tokens, and disabling does; deleting asks for the name', async () => {
    const { page } = await open('olga', '#/iam/service-users?user=worker')
    await page.getByRole('button', { name: 'Replace password' }).click()
    await soon(() => dialogOf(page).textContent()).toMatch(/all of the user's tokens are revoked/)
    await dialogOf(page).getByRole('button', { name: 'Replace password' }).click()
    const first = await page.getByLabel('Password', { exact: true }).inputValue()
    const token = await tokenOf('worker', first)
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByRole('button', { name: 'Replace password' }).click()
    await dialogOf(page).getByRole('button', { name: 'Replace password' }).click()
    const second = await page.getByLabel('Password', { exact: true }).inputValue()
    expect(await isAllowed('balance', token)).toBe('CREDENTIAL_REVOKED')
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByRole('button', { name: 'Disable' }).click()
    await dialogOf(page).getByRole('button', { name: 'Disable' }).click()
    await soon(() => page.getByRole('complementary').textContent()).toMatch(/Disabled.*While it is disabled/s)
    expect(await tokenOf('worker', second)).toBe(401)
    await page.getByRole('button', { name: 'Delete' }).click()
    await nameIn(page).fill('work')
    await dialogOf(page).getByRole('button', { name: 'Delete worker' }).click()
    await dialogOf(page).getByText('The name differs').waitFor()
    await nameIn(page).fill('worker')
    await page.keyboard.press('Enter')
    await soon(() => rowOf(page, 'worker').count()).toBe(0)
    await soon(() => page.evaluate('document.activeElement.tagName')).toBe('H1')
  })
})

describe.skipIf(!browser)('control panel users', () => {
  test('one is created and invited, accepts in another browser, and their session is seen and ended', async () => {
    const { page } = await open('olga', '#/iam/users')
    await page.getByRole('button', { name: 'Create user' }).click()
    await nameIn(page).fill('nina')
    await dialogOf(page).getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('button', { name: 'Invite' }).click()
    await soon(() => dialogOf(page).textContent()).toMatch(/chooses a password with it.*ends all sessions/s)
    await page.getByRole('button', { name: 'Create invitation' }).click()
    const link = await page.getByLabel('Invitation', { exact: true }).inputValue()
    expect(link.startsWith(`${pageOf(panel)}#/invitation?secret=`)).toBe(true)
    await page.getByRole('button', { name: 'I have saved it' }).click()
    const guest = await openPage(browser as Browser, link)
    await guest.page.getByLabel('Password', { exact: true }).fill('three blind mice')
    await guest.page.getByLabel('Password again').fill('three blind mice')
    await guest.page.getByRole('button', { name: 'Set password and log in' }).click()
    await guest.page.getByRole('heading', { name: 'Hello, nina' }).waitFor()
    expect(guest.page.url()).not.toContain('secret')
    await page.reload()
    const beside = page.getByRole('complementary')
    await beside.getByRole('button', { name: /^End: Chrome on Linux/ }).click()
    await soon(() => beside.textContent()).toMatch(/not logged in/)
    await soon(() => page.evaluate('document.activeElement.textContent')).toBe('Sessions')
    await guest.page.reload()
    await guest.page.getByRole('heading', { name: 'Log in' }).waitFor()
  })
})

describe.skipIf(!browser)('for every user', () => {
  test('names with markup and from right to left are texts, and axe finds nothing', async () => {
    const { page, complaints } = await open('olga', `#/iam/service-users?user=${encodeURIComponent(MARKUP)}`)
    await soon(() => page.getByRole('complementary').textContent()).toContain(MARKUP)
    await page.getByText('חשבון 7').waitFor()
    expect(await page.title()).not.toBe('run')
    expect(await page.locator('img').count()).toBe(0)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByRole('list', { name: 'Projects' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.goto(`${pageOf(panel)}#/iam/users?user=${encodeURIComponent(`${MARKUP}2`)}`)
    await soon(() => page.getByRole('complementary').textContent()).toContain('This user has no static token')
    expect(await accessibilityFaults(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  test.each([
    ['a small phone', PHONE],
    ['320 pixels in the dark', { ...PHONE, viewport: { width: 320, height: 640 }, colorScheme: 'dark' }],
  ])('on %s nothing is wider than the screen, and axe finds nothing', async (_, options) => {
    const { page } = await open('olga', '#/iam/service-users', options)
    await rowOf(page, MARKUP).click()
    await page.getByRole('complementary').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Close', exact: true }).click()
    await page.getByRole('button', { name: 'Create service user' }).click()
    await page.getByRole('radio', { name: /^Projects/ }).check()
    await page.getByRole('combobox', { name: 'Add a project' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    const wider = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
    expect(await page.evaluate<number>(wider)).toBe(0)
  })
})
