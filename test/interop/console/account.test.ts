/**
 * An account in Chromium, as its administrators use it: projects, access limits and the audit trail; and all
 * lists when they are long.
 */
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { startPanel } from '../../support/console/control-panel.ts'
import { accessibilityFaults, soon, startChromium } from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { dialogOf, fillDirectory, openAs, rowOf } from '../../support/interop/panel-page.ts'
import { ACCOUNT } from '../../support/sidecar/sidecar.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined

const panel = await startPanel()
const open = (user: string, hash: string, options = {}) =>
  openAs(browser as Browser, panel, user, hash, options)

/** The file that a button makes the browser save. */
async function saved(page: Page, button: string): Promise<string> {
  const waiting = page.waitForEvent('download')
  await page.getByRole('button', { name: button }).click()
  return readFileSync(await (await waiting).path(), 'utf8')
}

describe.skipIf(!browser)('projects', () => {
  test('one is created, disabled with a word about its tokens, enabled, and deleted by typing its name', async () => {
    const { page, complaints } = await open('adam', '#/projects')
    await page.getByRole('button', { name: 'Create project' }).click()
    await dialogOf(page).getByLabel('Name').fill('alpha')
    await page.keyboard.press('Enter')
    await dialogOf(page)
      .getByText(/already exists/)
      .waitFor()
    await dialogOf(page).getByLabel('Name').fill('delta')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Disable delta' }).click()
    await soon(() => dialogOf(page).textContent()).toMatch(/revoked for good/)
    await dialogOf(page).getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Enable delta' }).click()
    await dialogOf(page).getByRole('button', { name: 'Enable' }).click()
    await page.getByRole('button', { name: 'Disable delta' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Delete delta' }).click()
    await dialogOf(page).getByLabel('Name').fill('delta')
    await page.keyboard.press('Enter')
    await soon(() => rowOf(page, 'delta').count()).toBe(0)
    expect(complaints.filter((each) => !each.includes('409'))).toEqual([])
  })
})

describe.skipIf(!browser)('access limits', () => {
  test('an error is shown at its line, and users who would shut themselves out must confirm it', async () => {
    const { page } = await open('olga', '#/access-limits')
    await open('pia', '#/overview')
    const ranges = page.getByLabel('Addresses and ranges')
    await ranges.fill('203.0.113.0/24\n\n10.0.0.300\nelsewhere')
    await soon(() => page.locator('.fault').allTextContents()).toEqual([
      expect.stringMatching(/^Line 3, 10\.0\.0\.300: expected an IPv4 or IPv6 address/),
      expect.stringMatching(/^Line 4, elsewhere: expected/),
    ])
    await ranges.fill('203.0.113.0/24')
    const preview = page.locator('section', { hasText: 'Who would be shut out' })
    await soon(() => preview.textContent()).toMatch(/You.*127\.0\.0\.1.*shut out.*pia/s)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Save access limits' }).click()
    await soon(() => dialogOf(page).textContent()).toMatch(/Your address 127\.0\.0\.1 is not in these ranges/)
    await page.keyboard.press('Escape')
    await ranges.fill('203.0.113.0/24\n127.0.0.0/8')
    await soon(() => preview.textContent()).toMatch(/You.*127\.0\.0\.1.*allowed/s)
    await page.getByRole('button', { name: 'Save access limits' }).click()
    await page.getByText('2 ranges are in force.').waitFor()
    await ranges.fill('203.0.113.0/24')
    await soon(() => preview.textContent()).toMatch(/shut out/)
    await page.getByRole('button', { name: 'Save access limits' }).click()
    await page.getByRole('button', { name: 'Save and shut me out' }).click()
    await page.getByText('1 range is in force.').waitFor()
    await page.getByRole('button', { name: 'Remove the restriction' }).click()
    await dialogOf(page).getByRole('button', { name: 'Remove the restriction' }).click()
    await page.getByText('There is no restriction: every address is allowed.').waitFor()
  })

  test.each(['light', 'dark'] as const)(
    'unsaved input is not lost without a word: by a link, the way back, a view, logging out, closing (%s)',
    async (colorScheme) => {
      const { page } = await open('olga', '#/projects', { colorScheme })
      await page.getByRole('link', { name: 'Access limits' }).click()
      const ranges = page.getByLabel('Addresses and ranges')
      await ranges.fill('10.0.0.0/8')
      const stays = async (leave: () => Promise<unknown>) => {
        await leave()
        await soon(() => dialogOf(page).textContent()).toContain('Leave without saving?')
        await dialogOf(page).getByRole('button', { name: 'Cancel' }).click()
        await soon(() => dialogOf(page).count()).toBe(0)
        expect([page.url().split('#')[1], await ranges.inputValue()]).toEqual([
          '/access-limits',
          '10.0.0.0/8',
        ])
      }
      await stays(() => page.getByRole('link', { name: 'Audit trail' }).click())
      await stays(() => page.goBack())
      await stays(() => page.getByRole('link', { name: 'Matrix', exact: true }).click())
      await stays(async () => {
        await page.getByRole('button', { name: /^Account menu/ }).click()
        await page.getByRole('button', { name: 'Log out' }).click()
      })
      const asked = page.waitForEvent('dialog')
      void page.reload().catch(() => {})
      expect((await asked).type()).toBe('beforeunload')
      await (await asked).dismiss()
      await page.getByRole('link', { name: 'Audit trail' }).click()
      await dialogOf(page).getByRole('button', { name: 'Leave without saving' }).waitFor()
      expect(await accessibilityFaults(page)).toEqual([])
      await dialogOf(page).getByRole('button', { name: 'Leave without saving' }).click()
      await page.getByRole('heading', { level: 1, name: 'Audit trail' }).waitFor()
      await page.goBack()
      await soon(() => ranges.inputValue()).toBe('')
      // Input that is as before cannot be lost.
      await ranges.fill('10.0.0.0/8')
      await ranges.fill('')
      await page.getByRole('link', { name: 'Projects', exact: true }).click()
      await page.getByRole('heading', { level: 1, name: 'Projects' }).waitFor()
    },
  )
})

describe.skipIf(!browser)('the audit trail', () => {
  test('filters are in the link, a row opens its details, and what is found is exported', async () => {
    fillDirectory(panel, [
      `INSERT INTO audit (at_ms, actor, action, account, subject, details) VALUES
       (1700000000000, '=cmd()', 'service_user.set_roles', '${ACCOUNT}', 'old', '{"roles":["dns"]}')`,
    ])
    const { page } = await open('adam', '#/audit')
    await page.getByRole('textbox', { name: 'What' }).fill('SET_ROLES')
    await soon(() => page.url()).toContain('#/audit?what=SET_ROLES')
    await rowOf(page, '=cmd()').waitFor()
    await page.getByRole('textbox', { name: 'Who' }).fill('=cmd')
    await soon(() => page.locator('tbody tr:not(.skipped)').count()).toBe(1)
    await rowOf(page, '=cmd()').click()
    const beside = page.getByRole('complementary')
    await soon(() => beside.textContent()).toMatch(/service_user\.set_roles.*"roles"/s)
    expect(await accessibilityFaults(page)).toEqual([])
    const link = page.url()
    const csv = (await saved(page, 'Export CSV')).split('\r\n')
    expect(csv).toHaveLength(3)
    expect(csv[1]).toContain(
      `,"'=cmd()","service_user.set_roles","${ACCOUNT}","old","","{""roles"":[""dns""]}"`,
    )
    const lines = (await saved(page, 'Export JSON lines')).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { actor: '=cmd()', subject: 'old', at: '2023-11-14T22:13:20.000Z', details: { roles: ['dns'] } },
    ])
    await page.goto('about:blank')
    await page.goto(link)
    await soon(() => page.locator('tbody tr:not(.skipped)').count()).toBe(1)
    await page.getByLabel('To day').fill('2020-01-01')
    await page.getByText('No change matches the filters.').waitFor()
    // The last input is not sent after that.
    await page.getByRole('textbox', { name: 'Subject' }).fill('late')
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await soon(() => page.url()).toMatch(/#\/audit$/)
    expect(await page.getByRole('textbox', { name: 'Subject' }).inputValue()).toBe('')
    await rowOf(page, 'control_panel_user.log_in').first().waitFor()
  })
})

describe.skipIf(!browser)('long lists', () => {
  const MANY = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < `
  const rows = (page: Page) => page.locator('tbody tr:not(.skipped)')

  test('10,000 service users: few rows are drawn, a search finds the last one, and the keys reach the end', async () => {
    fillDirectory(panel, [
      `INSERT INTO users (id, account_id, name, type, password_hash, created_at_ms)
       ${MANY} 10000) SELECT printf('%032x', i), (SELECT id FROM accounts WHERE account = '${ACCOUNT}'),
       printf('program %05d', i), 'service_user', 'none', 1700000000000 FROM n`,
    ])
    const { page } = await open('olga', '#/iam/service-users')
    await rowOf(page, 'program 00001').waitFor()
    expect(await rows(page).count()).toBeLessThan(80)
    await page.getByRole('searchbox').fill('09 999')
    await page.getByRole('searchbox').fill('program 09999')
    await rowOf(page, 'program 09999').waitFor()
    expect(await rows(page).count()).toBe(1)
    await page.getByRole('searchbox').fill('')
    await rowOf(page, 'program 00001').focus()
    await page.keyboard.press('End')
    await rowOf(page, 'program 10000').waitFor()
    await page.keyboard.press('Enter')
    await soon(() => page.getByRole('complementary').textContent()).toMatch(/program 10000.*No/s)
    expect(await rows(page).count()).toBeLessThan(80)
  })
})
