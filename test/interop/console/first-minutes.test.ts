/**
 * A person's first minutes lead from the link of a development sidecar to a service user, a static token and
 * a checked request. They press what the page offers, and type what it asks for.
 */
import type { Browser, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { openPage, PHONE, soon, startChromium } from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { startDemo } from '../../support/processes/demo.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined

const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click()
const follow = (page: Page, name: string | RegExp) =>
  page.getByRole('main').getByRole('link', { name }).click()
const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()
const main = (page: Page) => page.getByRole('main')

/** From the overview to the value of a new API key. */
async function addKey(page: Page): Promise<string> {
  await follow(page, /^Add an API key/)
  await press(page, 'Add Key')
  await page.getByLabel('Key name').fill('reporting')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  const key = await page.getByLabel('API key (static token)').inputValue()
  await press(page, 'I have saved it')
  return key
}

/** Leads back to the overview. */
async function overview(page: Page): Promise<void> {
  await press(page, /^Account menu/)
  await page.getByRole('link', { name: 'Overview' }).first().click()
  await heading(page, /^Hello/)
}

/** Pastes a header, and asks the sidecar about an API. */
async function verify(page: Page, header: string, api: string): Promise<void> {
  await overview(page)
  await follow(page, /^Try a request/)
  await page.getByLabel('Request headers').fill(header)
  await page.getByRole('combobox', { name: 'API' }).fill(api)
  await page.keyboard.press('Enter')
  await press(page, 'Verify with this sidecar')
}

describe.skipIf(!browser).each([
  ['on a laptop', undefined],
  ['on a phone', PHONE],
])('%s', (_where, size) => {
  test('a newcomer creates a service user, adds an API key, and has a request checked', async () => {
    const demo = await startDemo(['--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0'])
    try {
      const link = /http:\S+\/#\/link\?secret=\S+/.exec(demo.output)?.[0] ?? ''
      const { page, complaints } = await openPage(browser as Browser, link, size)
      await heading(page, 'Hello, demo-owner')

      await follow(page, /^Create a service user/)
      await press(page, 'Create service user')
      const form = page.getByRole('dialog')
      await form.getByLabel('Name', { exact: true }).fill('nightly')
      await form.getByRole('button', { name: 'Create', exact: true }).click()
      const password = await page.getByLabel('Password', { exact: true }).inputValue()
      expect(password).toHaveLength(24)
      await press(page, 'I have saved it')
      await soon(() => page.getByRole('complementary').textContent()).toContain('nightly')
      await page.getByRole('complementary').getByRole('button', { name: 'Close' }).click()

      await overview(page)
      const key = await addKey(page)
      await verify(page, `X-Token: ${key}`, 'reports')
      await soon(() => main(page).textContent()).toContain('ALLOWED')
      expect(complaints).toEqual([])
    } finally {
      await demo.stop()
    }
  })
})
