/**
 * IAM in Chromium, as the owner of an account and an `iam.admin` use it: service users and control panel
 * users.
 */
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { applyFile } from '../../../sidecar/authority/administration/directory-file.ts'
import { PASSWORD, startPanel } from '../../support/console/control-panel.ts'
import { askAt, loginBody, TOKENS } from '../../support/identity/identity.ts'
import { run } from '../../support/interop/command.ts'
import { accessibilityFaults, openPage, PHONE, soon, startChromium } from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { dialogOf, keptBy, openAs, pageOf, rowOf, tabTo } from '../../support/interop/panel-page.ts'
import { TESTER } from '../../support/sidecar/actor.ts'
import { ACCOUNT } from '../../support/sidecar/sidecar.ts'
import { newFolder } from '../../support/suite/resources.ts'

const started = await obtained('Chromium', startChromium)
const curl = await obtained('curl', () => run('curl', ['--version']))
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

  test.skipIf(!curl.ok)(
    'the password is saved as a file, and the command beside it obtains a token with it',
    async () => {
      const { page } = await open('olga', '#/iam/service-users')
      await page.getByRole('button', { name: 'Create service user' }).click()
      await nameIn(page).fill(`it's a "test"`)
      await page.keyboard.press('Enter')
      const waiting = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Save as a file' }).click()
      const download = await waiting
      const cwd = newFolder()
      await download.saveAs(join(cwd, download.suggestedFilename()))
      const command = await page.locator('.command', { hasText: 'with curl' }).locator('code').textContent()
      const answer = await run('sh', ['-c', command ?? ''], { cwd })
      const [, token = ''] = /^x-subject-token: (.*)\r$/im.exec(answer) ?? []
      expect(await isAllowed('balance', token)).toBe('ALLOWED')
    },
  )

  test('a fault that is drawn late does not take the focus from a user who types', async () => {
    const { page } = await open('adam', '#/iam/service-users')
    await page.getByRole('button', { name: 'Create service user' }).click()
    await nameIn(page).fill('late')
    await page.getByRole('radio', { name: /^Projects/ }).check()
    await page.evaluate('window.late = []; window.requestAnimationFrame = (draw) => window.late.push(draw)')
    await dialogOf(page).getByRole('button', { name: 'Create' }).click()
    await dialogOf(page).getByText('expected one project or more').waitFor()
    await nameIn(page).press('End')
    await page.evaluate('for (const draw of window.late.splice(0)) draw(performance.now())')
    await page.keyboard.type(' frame')
    expect(await nameIn(page).inputValue()).toBe('late frame')
  })

  test('one for projects shows what it may obtain and open, with links to the cells, and gets nothing else', async () => {
    const { page } = await open('adam', '#/iam/service-users')
    await page.getByRole('button', { name: 'Create service user' }).click()
    await nameIn(page).fill('dns')
    await page.getByRole('radio', { name: /^Projects/ }).check()
    await dialogOf(page).getByRole('button', { name: 'Create' }).click()
    await dialogOf(page).getByText('expected one project or more').waitFor()
    for (const [words, name] of [
      ['alp', 'alpha'],
      ['rays', 'gamma rays'],
    ] as const) {
      await page.getByRole('combobox', { name: 'Add a project' }).fill(words)
      await page.getByRole('option', { name }).waitFor()
      // Closes the list alone.
      await page.keyboard.press('Escape')
      await soon(() => page.getByRole('option').count()).toBe(0)
      expect(await nameIn(page).inputValue()).toBe('dns')
      await page.getByRole('combobox', { name: 'Add a project' }).fill(words)
      await page.getByRole('option', { name }).click()
    }
    await dialogOf(page).getByRole('button', { name: 'Create', exact: true }).click()
    const password = await page.getByLabel('Password', { exact: true }).inputValue()
    await page.getByRole('button', { name: 'I have saved it' }).click()
    const beside = page.getByRole('complementary')
    await soon(() => beside.textContent()).toMatch(
      /Project-scoped IAM token.*alpha, gamma rays.*Opens 18 of 30 APIs/s,
    )
    expect(await beside.textContent()).toMatch(/Account-scoped IAM token.*Not with its permissions/s)
    expect(await isAllowed('cdn', await tokenOf('dns', password, 'alpha'), 'alpha')).toBe('ALLOWED')
    expect(await tokenOf('dns', password)).toBe(401)
    await beside.locator('li', { hasText: 'CDN' }).getByText('contested').waitFor()
    await beside.getByRole('link', { name: 'CDN' }).click()
    await soon(() => page.url()).toContain('#/matrix?cell=cdn.iam_token_project_scoped')
    await page.goBack()
    await soon(() => page.getByRole('complementary').textContent()).toMatch(/alpha, gamma rays/)
    await page.getByRole('button', { name: 'Change' }).click()
    await dialogOf(page).getByRole('button', { name: 'Remove gamma rays' }).click()
    await dialogOf(page).getByLabel('iam.admin').check()
    await dialogOf(page).getByText('Saving ends the password of dns').waitFor()
    await dialogOf(page).getByLabel('Other roles').fill('Not A Role')
    await dialogOf(page).getByRole('button', { name: 'Save' }).click()
    await dialogOf(page).getByText('expected the name of a role').waitFor()
    await dialogOf(page).getByLabel('Other roles').fill('dns.reader')
    await dialogOf(page).getByRole('button', { name: 'Save' }).click()
    await soon(() => beside.textContent()).toMatch(
      /Projects: alphaRolesdns\.reader, iam\.admin|Projects: alphaRolesiam\.admin, dns\.reader/,
    )
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

  test('a session that ends midway loses nothing that was typed', async () => {
    const { page } = await open('olga', '#/iam/service-users')
    await page.getByRole('button', { name: 'Create service user' }).click()
    await nameIn(page).fill('typed before')
    await panel
      .invite('olga')
      .then((secret) =>
        panel.browser().post('/console/session/invitation/accept', { secret, password: PASSWORD }),
      )
    await dialogOf(page).getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('heading', { name: 'Log in again' }).waitFor()
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await rowOf(page, 'typed before').waitFor()
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

  test("one's own session stays and is marked, and one that ended by itself does not keep the others", async () => {
    const { page } = await open('olga', '#/iam/users?user=olga')
    const login = { account: ACCOUNT, user: 'olga', password: PASSWORD }
    for (const _ of [1, 2, 3]) await panel.browser().post('/console/session/login', login)
    await page.reload()
    const items = page.getByRole('list', { name: 'Sessions' }).locator('li')
    await soon(() => items.count()).toBe(4)
    await items.first().getByText('This session').waitFor()
    const gone = { code: 'not_found', message: 'no such session', details: [] }
    await page.route(
      '**/EndSession',
      (route) => route.fulfill({ status: 404, json: { ...gone, reason: 'NOT_FOUND' } }),
      { times: 1 },
    )
    await page.getByRole('button', { name: 'End all others' }).click()
    await dialogOf(page).getByRole('button', { name: 'End all others' }).click()
    await soon(() => items.count()).toBe(1)
    await page.getByText('3 sessions have ended.').waitFor()
    await page.reload()
    await soon(() => items.count()).toBe(2)
  })

  test('an iam.admin sees what is for owners, with the reason, before trying', async () => {
    const { page } = await open('adam', '#/iam/users?user=olga')
    const beside = page.getByRole('complementary')
    await beside.getByText('Only an owner of the account may do this.').first().waitFor()
    for (const name of ['Invite', 'Change', 'Disable', 'Delete']) {
      const button = beside.getByRole('button', { name, exact: true })
      expect(await button.getAttribute('aria-disabled')).toBe('true')
      await button.click({ force: true })
    }
    expect(await dialogOf(page).count()).toBe(0)
    await page.getByRole('button', { name: 'Create user' }).click()
    await nameIn(page).waitFor()
    expect(await page.getByLabel('Owner of the account').isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    await rowOf(page, 'pia').click()
    await soon(() => beside.getByRole('button', { name: 'Invite' }).getAttribute('aria-disabled')).toBe(
      'false',
    )
  })

  test('a static token of somebody is revoked, with some seconds to undo it', async () => {
    const { page } = await open('olga', '#/iam/users?user=rita')
    const beside = page.getByRole('complementary')
    const item = (name: string) =>
      beside.getByRole('list', { name: 'Static tokens' }).locator('li', { hasText: name })
    await beside.getByRole('button', { name: 'Revoke: laptop' }).click()
    await item('laptop')
      .getByText(/It is revoked in \d+ seconds, and works until then/)
      .waitFor()
    await beside.getByRole('button', { name: 'Undo: laptop' }).click()
    await beside.getByRole('button', { name: 'Revoke: laptop' }).waitFor()

    await page.route('**/RevokeStaticToken', (route) => route.fulfill({ status: 503, json: {} }), {
      times: 1,
    })
    await beside.getByRole('button', { name: 'Revoke: tablet' }).click()
    await beside.getByRole('button', { name: 'Revoke now: tablet' }).click()
    await item('tablet').getByText('It could not be revoked, so it may still work.').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await beside.getByRole('button', { name: 'Revoke again: tablet' }).click()
    await item('tablet').getByText('Revoked', { exact: true }).waitFor()
    expect(await beside.getByRole('button', { name: 'Revoke: laptop' }).count()).toBe(1)

    // Closing the panel revokes what waits.
    await beside.getByRole('button', { name: 'Revoke: laptop' }).click()
    const revoked = page.waitForResponse('**/RevokeStaticToken')
    await beside.getByRole('button', { name: 'Close' }).click()
    expect((await revoked).ok()).toBe(true)
    await rowOf(page, 'rita').click()
    await item('laptop').getByText('Revoked', { exact: true }).waitFor()
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
