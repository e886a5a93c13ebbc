/**
 * The control panel in Chromium, for users who are logged in: the page as they see it, and what a product API
 * learns of their tokens.
 */
import type { Browser as Chromium, Page } from 'playwright-core'
import { expect } from 'vitest'
import { type Browser, PASSWORD, type PanelSidecar, startPanel } from '../console/control-panel.ts'
import { askAt } from '../identity/identity.ts'
import { ACCOUNT } from '../sidecar/sidecar.ts'
import { LAPTOP, type OpenPage, openPage } from './explorer.ts'

export const HASHES = {
  keys: '#/profile/access/keys',
  tokens: '#/profile/access/tokens',
  sessions: '#/profile/sessions',
  security: '#/profile/security',
} as const

const LOGIN = '/console/session/login'
const CLIENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

/** @param host a name, for which browsers have passkeys, or an address, for which they have none */
type Options = NonNullable<Parameters<typeof openPage>[2]> & { readonly host?: string }

export interface PanelInChromium {
  readonly panel: PanelSidecar
  /** The sidecar's time is ahead of the clock by this. */
  readonly clock: { aheadMs: number }
  readonly now: () => number
  /** The address of a view. */
  url(hash: string, host?: string): string
  /**
   * Opens the page for a user who has accepted an invitation: with the password alone, and in no other
   * session.
   */
  openFor(user: string, hash: string, options?: Options): Promise<OpenPage>
  /** Opens the page. @param cookie of a session; empty: no user is logged in */
  openWith(cookie: string, hash: string, options?: Options): Promise<OpenPage>
  /** Another browser, in which the user logs in. */
  logIn(user: string): Promise<Browser>
  /** The decision that a product API gets about a request. */
  decisionOn(header: string, value: string, api: string): Promise<string>
  keyWorks(key: string): Promise<boolean>
}

export async function startPanelInChromium(browser: Chromium | undefined): Promise<PanelInChromium> {
  const clock = { aheadMs: 0 }
  const now = () => Date.now() + clock.aheadMs
  const panel = await startPanel({ now })
  const url = (hash: string, host = '127.0.0.1') => `http://${host}:${panel.port}/console/${hash}`
  const openWith = (cookie: string, hash: string, { host = '127.0.0.1', ...options }: Options = {}) => {
    const [name = '', value = ''] = cookie.split('=')
    const session = {
      ...{ name, value, domain: host, path: '/', expires: -1 },
      ...{ httpOnly: true, secure: false, sameSite: 'Strict' as const },
    }
    return openPage(browser as Chromium, url(hash, host), {
      ...{ ...LAPTOP, ...options },
      storageState: { cookies: cookie === '' ? [] : [session], origins: [] },
    })
  }
  const decisionOn = async (header: string, value: string, api: string): Promise<string> => {
    const { json } = await askAt(panel.port, {
      method: 'POST',
      path: '/portcullis.v1.AuthorizationService/Check',
      body: { api, credentials: { headers: [{ name: header, value }] } },
    })
    return String(json.reason).replace('REASON_', '')
  }
  return {
    ...{ panel, clock, now, url, openWith, decisionOn },
    openFor: async (user, hash, options) =>
      openWith((await panel.loggedIn(user)).cookie ?? '', hash, options),
    logIn: async (user) => {
      const shown = panel.browser()
      await shown.post(LOGIN, { account: ACCOUNT, user, password: PASSWORD }, { 'user-agent': CLIENT })
      return shown
    },
    keyWorks: async (key) => (await decisionOn('X-Token', key, 'balance')) === 'ALLOWED',
  }
}

export const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' })
export const dialog = (page: Page) => page.getByRole('dialog').last()
export const textOf = (page: Page) => page.locator('.panel-page').textContent()
export const clipboard = (page: Page) => page.evaluate<string>('navigator.clipboard.readText()')

/** The element with the focus, by its name. */
export const focused = (page: Page) =>
  page.evaluate<string>(
    '(document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "").trim()',
  )

export const overflows = (page: Page) =>
  page.evaluate<boolean>('document.documentElement.scrollWidth > window.innerWidth')

/** Adds a key, and leaves the dialog that shows it. @returns the key */
export async function addKey(page: Page, name: string): Promise<string> {
  await button(page, 'Add Key').click()
  await page.getByLabel('Key name').fill(name)
  await button(page, 'Add').click()
  const value = await page.getByLabel('API key (static token)').inputValue()
  await button(page, 'I have saved it').click()
  return value
}

/** Expects that a secret that was shown is nowhere where it would stay. */
export async function expectNoTrace(page: Page, secret: string): Promise<void> {
  const kept =
    'JSON.stringify([localStorage, sessionStorage, document.cookie, history.state, location.href, document.title])'
  expect(await page.evaluate<string>(kept)).not.toContain(secret)
}
