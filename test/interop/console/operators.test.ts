/**
 * The pages of operators in Chromium: accounts, callers, keys, and the live tail while thousands of decisions
 * are made.
 */
import { existsSync, readFileSync } from 'node:fs'
import type { Browser, Page, Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { DirectoryFile } from '../../../sidecar/authority/administration/directory-file.ts'
import { type CallerName, type OperatorsSidecar, startForOperators } from '../../support/console/operators.ts'
import { credentialQuestion } from '../../support/contract/answers.ts'
import { BlackBox } from '../../support/contract/black-box.ts'
import { accessibilityFaults, openPage, PHONE, soon, startChromium } from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { openAsOperator } from '../../support/interop/panel-page.ts'
import { operatorOf } from '../../support/sidecar/operator.ts'
import { ACCOUNT, issued, populate } from '../../support/sidecar/sidecar.ts'
import { eventually } from '../../support/suite/resources.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined

const sidecar = await startForOperators()
const ALLOWED = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
const DENIED = { ...ALLOWED, api: 'cdn' }

const open = (name: CallerName, hash: string, options: object = {}, at: OperatorsSidecar = sidecar) =>
  openAsOperator(browser as Browser, at, name, hash, options)

const rows = (page: Page) => page.locator('tbody tr:not(.skipped)')
const rowOf = (page: Page, text: string) => rows(page).filter({ hasText: text })
const asked = async (page: Page, question: typeof ALLOWED, client = sidecar.running.client) => {
  await page.getByText('Listening').waitFor()
  await client.check(question)
}

describe.skipIf(!browser)('accounts', () => {
  test('an operator logs in, creates an account, disables and enables it, and deletes it by its number', async () => {
    const url = `http://127.0.0.1:${sidecar.port}/console/#/operator/accounts`
    const { page, complaints } = await openPage(browser as Browser, url)
    await page.getByRole('radio', { name: 'Operator' }).check()
    await page.getByLabel('Caller token').fill(sidecar.tokenOf('root'))
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
    await rowOf(page, ACCOUNT).waitFor()
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByLabel('Account number').fill('a b')
    await page.getByRole('dialog').getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('dialog').getByText('expected').waitFor()
    await page.getByLabel('Account number').fill('555000')
    // It is made, and the answer is lost.
    const losing = async (route: Route) => {
      await route.fetch()
      await route.abort()
    }
    await page.route('**/CreateAccount', losing, { times: 1 })
    await page.getByRole('dialog').getByRole('button', { name: 'Create account' }).click()
    await rowOf(page, '555000').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    expect(await accessibilityFaults(page)).toEqual([])

    await page.getByRole('button', { name: 'Disable account 555000' }).click()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await rowOf(page, '555000').getByText('Disabled').waitFor()
    await page.getByRole('button', { name: 'Enable account 555000' }).click()
    await rowOf(page, '555000').getByText('Enabled').waitFor()

    await page.getByRole('button', { name: 'Delete account 555000' }).click()
    const dialog = page.getByRole('dialog')
    const confirm = dialog.getByRole('button', { name: 'Delete account 555000' })
    await dialog.getByRole('textbox').fill('555001')
    await confirm.click()
    await dialog.getByText('The name differs.').waitFor()
    await dialog.getByRole('textbox').fill('555000')
    await confirm.click()
    await soon(() => rowOf(page, '555000').count()).toBe(0)
    await soon(() => page.evaluate('document.activeElement.tagName')).toBe('H1')
    const { accounts } = await operatorOf(sidecar.running).directory.listAccounts({})
    expect(accounts.map(({ account }) => account)).toEqual([ACCOUNT])
    expect(complaints.filter((each) => !/400|401|ERR_FAILED/.test(each))).toEqual([])
  })
})

describe.skipIf(!browser)('callers and keys', () => {
  test('callers are shown with their rights, and nothing that they are known by', async () => {
    const { page, complaints } = await open('reader', '#/operator/callers')
    await rowOf(page, 'clerk').waitFor()
    expect(await rowOf(page, 'clerk').textContent()).toContain(`administer:${ACCOUNT}`)
    expect(await rowOf(page, 'reader').textContent()).toContain('you')
    await rowOf(page, 'root').click()
    await page.getByRole('dialog', { name: 'Caller root' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    const html = await page.content()
    for (const name of ['root', 'reader', 'revoker', 'clerk'] as const)
      expect(html).not.toContain(sidecar.tokenOf(name))
    expect(await accessibilityFaults(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  test('keys are shown with their states and ages', async () => {
    const { page, complaints } = await open('reader', '#/operator/callers')
    await page.route('**/operator/keys', (route) => route.fulfill({ status: 500, json: {} }), { times: 1 })
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Active: signs').waitFor()
    expect(await page.getByText('Staged: will sign next').count()).toBe(1)
    expect(await page.getByText('No listener of this sidecar speaks TLS.').count()).toBe(1)
    expect(await page.getByText('its file was written').count()).toBe(2)
    expect(await accessibilityFaults(page)).toEqual([])
    expect(complaints.filter((each) => !each.includes('500'))).toEqual([])
  })
})

describe.skipIf(!browser)('the live tail', () => {
  test('decisions appear as they are made, filters leave what was looked for, and one leads to its cell', async () => {
    const { page, complaints } = await open('reader', '#/operator/decisions')
    await asked(page, ALLOWED)
    await asked(page, DENIED)
    await rowOf(page, 'cdn').waitFor()
    expect(await rows(page).first().textContent()).toContain('TOKEN_KIND_NOT_ACCEPTED')
    expect(await page.locator('table').getAttribute('aria-live')).toBe('off')
    expect(await accessibilityFaults(page)).toEqual([])

    await page.getByRole('radio', { name: 'Allowed' }).check()
    await soon(() => rows(page).count()).toBe(1)
    await page.getByRole('radio', { name: 'Denied' }).check()
    await page.getByLabel('Reason').selectOption('TOKEN_KIND_NOT_ACCEPTED')
    await page.getByLabel('API').selectOption('cdn')
    await page.getByRole('searchbox').fill(ACCOUNT)
    await soon(() => rows(page).count()).toBe(1)
    await page.getByRole('searchbox').fill('no such caller')
    await page.getByText('No decision matches the filters yet.').waitFor()
    await page.getByRole('searchbox').fill('')

    await rowOf(page, 'cdn').click()
    const dialog = page.getByRole('dialog', { name: 'Denied: cdn' })
    expect(await dialog.textContent()).toMatch(/Asked over.*grpc.*Token bound to.*123456/)
    expect(await accessibilityFaults(page)).toEqual([])
    await dialog.getByRole('link', { name: 'See this cell in the matrix' }).click()
    await soon(() => page.url()).toContain('cell=cdn~static_token')
    await page.getByRole('complementary').waitFor()
    expect(complaints).toEqual([])
  })

  test('with the keyboard alone: a row is chosen, which pauses, opened and closed, and the tail goes on', async () => {
    const { page } = await open('reader', '#/operator/decisions')
    for (const each of [ALLOWED, DENIED, ALLOWED]) await asked(page, each)
    await soon(() => rows(page).count()).toBe(3)
    await page.getByLabel('API').focus()
    await page.keyboard.press('Tab')
    await page.getByText('Paused').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Denied: cdn' }).waitFor()
    await sidecar.running.client.check(ALLOWED)
    await page.keyboard.press('Escape')
    const focused = () => page.evaluate<string>('document.activeElement.textContent')
    await soon(focused).toContain('cdn')
    expect(await rows(page).count()).toBe(3)
    const resume = page.getByRole('button', { name: 'Resume and show 1 new entry' })
    await resume.waitFor()
    await resume.focus()
    await page.keyboard.press('Enter')
    await soon(() => rows(page).count()).toBe(4)
  })

  test('at 2,000 decisions a second the page draws on, keeps a thousand entries, and draws those in sight', async () => {
    const { page } = await open('reader', '#/operator/decisions')
    await page.getByText('Listening').waitFor()
    const framesIn = (ms: number) =>
      page.evaluate<number>(
        `new Promise((done) => { let n = 0; const end = performance.now() + ${ms}; const step = (now) => { n++; now < end ? requestAnimationFrame(step) : done(n) }; requestAnimationFrame(step) })`,
      )
    const quiet = await framesIn(2_000)
    const batch = Array.from({ length: 200 }, (_, index) => (index % 4 === 0 ? DENIED : ALLOWED))
    const asking = setInterval(() => void sidecar.running.client.checkBatch(batch), 100)
    await page.getByText('1,000 entries shown').waitFor()
    const busy = await framesIn(2_000)
    clearInterval(asking)
    // A third of them is 20 a second.
    expect(busy).toBeGreaterThan(quiet / 3)
    expect(await rows(page).count()).toBeLessThan(100)
    expect(await page.getByRole('table').getAttribute('aria-rowcount')).toBe('1001')
    await page.evaluate("document.querySelector('.list-scroll').scrollTo(0, 20000)")
    await page.getByText('Paused').waitFor()
    await rows(page).last().waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('on a phone nothing is wider than the screen', async () => {
    const { page } = await open('reader', '#/operator/decisions', PHONE)
    await asked(page, DENIED)
    await rowOf(page, 'cdn').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await accessibilityFaults(page)).toEqual([])
    for (const other of ['accounts', 'callers', 'keys']) {
      await page.goto(`http://127.0.0.1:${sidecar.port}/console/#/operator/${other}`)
      await rows(page).first().waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      expect(await accessibilityFaults(page)).toEqual([])
    }
  })
})

describe.skipIf(!browser)('decisions of the past', () => {
  const WORKER: DirectoryFile = {
    accounts: [
      {
        account: ACCOUNT,
        service_users: [{ name: 'worker', permissions: [{ scope: 'account' }] }],
        control_panel_users: [{ name: 'igor', static_tokens: ['key'] }],
      },
    ],
  }
  const REQUEST_ID = '7f2504e0-4f89-41d3-9a0c-0305e82c3302'
  const past = async (options: object = {}) => {
    const opened = await open('reader', '#/operator/decisions', options)
    await opened.page.getByRole('radio', { name: 'Past' }).check()
    return opened
  }
  const find = (page: Page) => page.getByRole('button', { name: 'Search', exact: true }).click()

  test('an operator finds why a request was refused, and what its caller read', async () => {
    const secrets = await populate(sidecar.running, WORKER)
    const token = (await issued(sidecar.running, secrets, { user: 'worker' })).value
    const question = credentialQuestion('email', 'X-Auth-Token', token)
    await new BlackBox(sidecar.running.address).ask('check', question, {
      metadata: { 'x-request-id': REQUEST_ID },
    })
    await eventually(() => existsSync(sidecar.log) && readFileSync(sidecar.log, 'utf8').includes(REQUEST_ID))
    const { page, complaints } = await past()
    const bodies: string[] = []
    const urls: string[] = []
    page.on('request', (request) => {
      urls.push(request.url())
      if (request.url().endsWith('/decisions/search')) bodies.push(request.postData() ?? '')
    })
    await rowOf(page, 'email').first().waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByText('More fields').click()
    await page.getByLabel('Token (its value)').fill(token)
    await page.getByLabel('API').fill('email')
    await page.getByRole('radio', { name: 'Denied' }).check()
    await find(page)
    await soon(() => rows(page).count()).toBe(1)
    expect(await rows(page).first().textContent()).toContain('TOKEN_KIND_NOT_ACCEPTED')
    expect(await rows(page).first().textContent()).toContain('worker')
    expect(bodies.some((body) => body.includes(token))).toBe(true)
    expect(urls.filter((url) => url.includes(token))).toEqual([])
    expect(page.url()).not.toContain(token)
    expect(await accessibilityFaults(page)).toEqual([])

    await rows(page).first().click()
    const dialog = page.getByRole('dialog', { name: 'Denied: email' })
    expect(await dialog.textContent()).toMatch(/Message to the caller.*does not accept/)
    expect(await dialog.textContent()).toMatch(/The rules of now.*decide the same/)
    expect(await dialog.textContent()).toContain(REQUEST_ID)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.keyboard.press('Escape')

    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('Request or trace id').fill(REQUEST_ID)
    await find(page)
    await soon(() => rows(page).count()).toBe(1)
    await page.getByLabel('Request or trace id').fill('nobody')
    await find(page)
    await page.getByText('No decision matches.').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('From').fill('2001-01-01T00:00')
    await page.getByLabel('Before').fill('2002-01-01T00:00')
    await find(page)
    await page.getByText('No decision matches.').waitFor()
    await page.getByLabel('Fingerprint').fill('abc')
    await find(page)
    await page.getByText('32 hexadecimal digits').waitFor()
    expect(complaints.filter((each) => !each.includes('400'))).toEqual([])
  })

  test('on a phone nothing is wider than the screen', async () => {
    const { page } = await past(PHONE)
    await rows(page).first().waitFor()
    await page.getByText('More fields').click()
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await accessibilityFaults(page)).toEqual([])
  })
})
