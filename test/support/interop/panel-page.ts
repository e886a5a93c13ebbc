/** The control panel in Chromium, as a user who is logged in sees it. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Browser, Page } from 'playwright-core'
import type { PanelSidecar } from '../console/control-panel.ts'
import type { CallerName, OperatorsSidecar } from '../console/operators.ts'
import { LAPTOP, type OpenPage, openPage } from './explorer.ts'

/** Address of the page. */
export const pageOf = ({ port }: PanelSidecar): string => `http://127.0.0.1:${port}/console/`

/** Opens a page of the control panel in a separate browser, with a session of the user. */
export async function openAs(
  browser: Browser,
  panel: PanelSidecar,
  user: string,
  hash: string,
  options: object = {},
): Promise<OpenPage> {
  const [name = '', value = ''] = ((await panel.loggedIn(user)).cookie ?? '').split('=')
  const cookie = { name, value, domain: '127.0.0.1', path: '/', expires: -1, httpOnly: true, secure: false }
  const storageState = { cookies: [{ ...cookie, sameSite: 'Strict' as const }], origins: [] }
  return openPage(browser, `${pageOf(panel)}${hash}`, { ...LAPTOP, storageState, ...options })
}

/** Opens a page with the session of a caller. */
export async function openAsOperator(
  browser: Browser,
  at: Pick<OperatorsSidecar, 'port' | 'loggedInAs'>,
  name: CallerName,
  hash: string,
  options: object = {},
): Promise<OpenPage> {
  const { cookie = '' } = await at.loggedInAs(name)
  const url = `http://127.0.0.1:${at.port}/console/`
  const opened = await openPage(browser, `${url}rules.json`, { ...LAPTOP, ...options })
  const [cookieName = '', value = ''] = cookie.split('=')
  await opened.page
    .context()
    .addCookies([{ name: cookieName, value, domain: '127.0.0.1', path: '/', sameSite: 'Strict' }])
  await opened.page.goto(`${url}${hash}`)
  return opened
}

export const rowOf = (page: Page, name: string) =>
  page.locator('tbody tr:not(.skipped)').filter({ has: page.getByText(name, { exact: true }) })

export const dialogOf = (page: Page) => page.getByRole('dialog')

/** Presses Tab until the focus is on what has that text or label. A mouse is not needed. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 80; presses++) {
    const focused = await page.evaluate<string>(
      `(() => { const { activeElement: e } = document; return e.ariaLabel ?? e.labels?.[0]?.textContent ?? e.textContent ?? '' })()`,
    )
    if (focused.includes(name)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the Tab key does not lead to ${name}`)
}

/** All that the page keeps where another user might find it. */
export const keptBy = (page: Page): Promise<string> =>
  page.evaluate<string>(
    'JSON.stringify([location.href, history.state, document.cookie, { ...localStorage }, { ...sessionStorage }])',
  )

/** Writes many rows at once, as years would: straight into the file of the directory. */
export function fillDirectory({ running }: PanelSidecar, statements: readonly string[]): void {
  const database = new DatabaseSync(join(running.folder, 'directory.sqlite'))
  for (const statement of statements) database.exec(statement)
  database.close()
}
