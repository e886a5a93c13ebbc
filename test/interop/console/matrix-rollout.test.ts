/**
 * The operators' page of the matrix in Chromium: what a shadow would change, promoting it, and rolling it
 * back.
 */
import type { Browser, Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { supportMatrix } from '../../../matrix/index.ts'
import { type CallerName, type OperatorsSidecar, startForOperators } from '../../support/console/operators.ts'
import { accessibilityFaults, PHONE, soon, startChromium } from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { dialogOf, openAsOperator } from '../../support/interop/panel-page.ts'
import { ACCOUNT_KIND } from '../../support/matrices/engines.ts'
import { OTHER_CELLS } from '../../support/matrices/shadow-matrices.ts'
import { ACCOUNT } from '../../support/sidecar/sidecar.ts'
import { newFile } from '../../support/suite/resources.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined

const HASH = '#/operator/matrix'
const startBeside = (matrix: object) =>
  startForOperators({ flags: { matrix_shadow: newFile(JSON.stringify(matrix), 'next.json') } })

const open = (at: OperatorsSidecar, name: CallerName = 'root', options: object = {}) =>
  openAsOperator(browser as Browser, at, name, HASH, options)

/** The shadow opens it to the account-scoped kind. */
const OPENED = 'reports'
/** The shadow closes it. */
const CLOSED = 'balance'

async function ask({ running }: OperatorsSidecar, api: string, account = ACCOUNT): Promise<boolean> {
  const { allowed } = await running.client.check({ api, token: { kind: ACCOUNT_KIND, scope: { account } } })
  return allowed
}

const fits = (page: Page) => page.evaluate('document.documentElement.scrollWidth <= innerWidth')
const table = (page: Page, name: string) => page.getByRole('table', { name })
const inForce = (page: Page) => page.locator('section').filter({ hasText: 'In force' }).first()
/** The number that an operator must type: it counts the cells that open, those of the renamed API too. */
async function asked(dialog: Locator): Promise<string> {
  const text = (await dialog.textContent()) ?? ''
  expect(text).toMatch(/Renamed APIs open 1 cell by their new ids/)
  const [, opened] = /It opens (\d+) cell/.exec(text) ?? []
  expect(text).toContain(`Type ${Number(opened) + 1} to confirm.`)
  return String(Number(opened) + 1)
}
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

describe.skipIf(!browser)('with a shadow', () => {
  test('an operator sees what would open and close, and for whom, promotes it, and rolls it back', async () => {
    const sidecar = await startBeside(OTHER_CELLS)
    for (const account of [ACCOUNT, ACCOUNT, '234567'])
      expect(await ask(sidecar, OPENED, account)).toBe(false)
    expect(await ask(sidecar, CLOSED)).toBe(true)
    const { page, complaints } = await open(sidecar)

    const opened = table(page, 'Would open').locator('tbody tr')
    await soon(() => opened.count()).toBe(1)
    expect(await opened.textContent()).toMatch(/reports.*3.*123456 \(2\), 234567 \(1\)/)
    expect(await table(page, 'Would close').locator('tbody tr').textContent()).toMatch(/balance.*1.*123456/)
    expect(await table(page, 'Opened').textContent()).toContain(OPENED)
    expect(await table(page, 'Closed').textContent()).toContain(CLOSED)
    expect(await inForce(page).textContent()).toContain('The configuration')
    await page.getByText('No matrix was promoted yet.').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await ask(sidecar, OPENED, '345678')
    await press(page, 'Refresh')
    await soon(() => opened.textContent()).toContain('and 1 more')
    await opened.locator('summary').click()
    await soon(() => opened.textContent()).toContain('345678 (1)')

    await press(page, 'Promote…')
    const dialog = dialogOf(page)
    const count = await asked(dialog)
    expect(await accessibilityFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Promote' }).click()
    await dialog.getByText('Enter the reason.').waitFor()
    await dialog.getByLabel('Reason').fill("agreed, it's time")
    await dialog.getByLabel('Cells that open').fill('0')
    await dialog.getByRole('button', { name: 'Promote' }).click()
    await dialog.getByText(`Expected ${count}, the number of cells that open.`).waitFor()
    expect(await dialog.locator('pre').textContent()).toContain(`--max-opened ${count}`)
    await dialog.getByLabel('Cells that open').fill(count)
    // The session was confirmed a while ago.
    const again = { reason: 'REAUTHENTICATION_REQUIRED', message: 'confirm that it is you' }
    await page.route('**/PromoteMatrix', (route) => route.fulfill({ status: 400, json: again }), { times: 1 })
    await page.keyboard.press('Enter')
    await page.getByLabel('Caller token').fill(sidecar.tokenOf('root'))
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText('The shadow is in force now.').waitFor()
    await soon(() => page.evaluate('document.activeElement.tagName')).toBe('H1')
    expect([await ask(sidecar, OPENED), await ask(sidecar, CLOSED)]).toEqual([true, false])
    await soon(() => inForce(page).textContent()).toMatch(/A promotion.*root.*agreed, it's time/)
    await page.getByText('there is nothing to promote').waitFor()
    expect(await page.getByRole('button', { name: 'Promote…' }).count()).toBe(0)
    expect(await accessibilityFaults(page)).toEqual([])

    await press(page, 'Roll back…')
    await dialog.getByText(/It opens 1 cell and closes \d+ cells/).waitFor()
    const back = await asked(dialog)
    await dialog.getByLabel('Reason').fill('the importer is refused')
    expect(await accessibilityFaults(page)).toEqual([])
    // The way back opens a cell, so it asks as a promotion does.
    await dialog.getByRole('button', { name: 'Roll back' }).click()
    await dialog.getByText(`Expected ${back}, the number of cells that open.`).waitFor()
    expect(await dialog.locator('pre').textContent()).toContain(`--max-opened ${back}`)
    await dialog.getByLabel('Cells that open').fill(back)
    await dialog.getByRole('button', { name: 'Roll back' }).click()
    await page.getByText('The earlier matrix is in force again.').waitFor()
    expect([await ask(sidecar, OPENED), await ask(sidecar, CLOSED)]).toEqual([false, true])
    const versions = table(page, 'Matrices put in force').locator('tbody tr')
    await soon(() => versions.count()).toBe(3)
    expect(await versions.first().textContent()).toMatch(/Rolled back.*root.*the importer is refused/)
    expect(complaints.filter((each) => !each.includes('400'))).toEqual([])
  })

  test('a kind that no longer needs a permission flips no cell, and is confirmed by its number', async () => {
    const [first, ...others] = supportMatrix.tokenKinds
    const sidecar = await startBeside({
      ...supportMatrix,
      tokenKinds: [{ ...first, permissionScopes: [] }, ...others],
    })
    const { page, complaints } = await open(sidecar)
    expect(await table(page, 'Facts of kinds').locator('tbody tr').textContent()).toMatch(
      /Loosened: permissionScopes.*account.*none/,
    )
    await press(page, 'Promote…')
    const dialog = dialogOf(page)
    await dialog.getByText(/loosens 1 fact, changes 0 and tightens 0/).waitFor()
    expect(await dialog.getByLabel('Cells that open').count()).toBe(0)
    await dialog.getByLabel('Reason').fill('agreed')
    await dialog.getByRole('button', { name: 'Promote' }).click()
    await dialog.getByText('Expected 1, the number of facts that are loosened or changed.').waitFor()
    expect(await dialog.locator('pre').textContent()).toContain('--max-loosened 1')
    await dialog.getByLabel('Facts of kinds').fill('1')
    expect(await accessibilityFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Promote' }).click()
    await page.getByText('The shadow is in force now.').waitFor()

    // The way back only tightens. Where its matrix cannot be read, it is asked for with a word.
    await page.route('**/GetMatrixRollout', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), toMatrix: '' } })
    })
    await page.reload()
    await press(page, 'Roll back…')
    await dialog.getByText('so this page cannot say what opens').waitFor()
    await dialog.getByLabel('Reason').fill('back')
    await dialog.getByRole('button', { name: 'Roll back' }).click()
    await dialog.getByText('Expected the word unseen.').waitFor()
    expect(await dialog.locator('pre').textContent()).toContain('--unseen')
    await page.unroute('**/GetMatrixRollout')
    await dialog.getByLabel('Without seeing what opens').fill('unseen')
    await dialog.getByRole('button', { name: 'Roll back' }).click()
    await page.getByText('The earlier matrix is in force again.').waitFor()
    expect(complaints).toEqual([])
  })

  test('a caller who only reads sees it all and changes nothing, on a phone too', async () => {
    const sidecar = await startBeside(OTHER_CELLS)
    await ask(sidecar, OPENED)
    const { page, complaints } = await open(sidecar, 'reader', PHONE)
    await table(page, 'Opened').waitFor()
    expect(await page.getByRole('button', { name: /Promote|Roll back/ }).count()).toBe(0)
    expect(await fits(page)).toBe(true)
    expect(await accessibilityFaults(page)).toEqual([])
    for (const digest of await page.locator('summary').all()) await digest.click()
    expect(await fits(page)).toBe(true)
    expect(complaints).toEqual([])
  })
})
