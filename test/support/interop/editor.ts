/** The editor of the page in Chromium, as a person uses it. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { newFile } from '../suite/resources.ts'

export const press = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: true }).first().click()
export const toggle = (page: Page, name: string | RegExp) =>
  page.locator('.edit-cell').and(page.getByRole('button', { name }))
export const status = (page: Page) => page.locator('.edit-status').textContent()
export const effects = (page: Page) => page.getByRole('complementary').textContent()
export const choose = (page: Page, text: string, name: string) =>
  page.locator('input[type=file]').setInputFiles(newFile(text, name))
export const hashOf = (page: Page) => page.evaluate<string>('location.hash')
/** Whether the browser asks before it leaves the page. */
export const warns = (page: Page) =>
  page.evaluate<boolean>('!dispatchEvent(new Event("beforeunload", { cancelable: true }))')

/** Fills the fields of the dialog that is open, and sends it. */
export async function fill(
  page: Page,
  fields: Readonly<Record<string, string>>,
  button: string,
): Promise<void> {
  const dialog = page.getByRole('dialog')
  for (const [label, value] of Object.entries(fields))
    await dialog.getByLabel(label, { exact: false }).first().fill(value)
  await dialog.getByRole('button', { name: button, exact: true }).click()
  await dialog.waitFor({ state: 'hidden' })
}

/** Saves what a button gives. @returns the path */
export async function saved(page: Page, folder: string, name: string): Promise<string> {
  const download = page.waitForEvent('download')
  await press(page, `Save ${name}`)
  const path = join(folder, (await download).suggestedFilename())
  await (await download).saveAs(path)
  return path
}

export const copied = async (page: Page) => {
  await page.getByRole('button', { name: 'Copy link' }).click()
  return page.evaluate<string>('navigator.clipboard.readText()')
}
