/** The page in Chromium: opened as a person does it, with everything noted that a person would not see. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AxeResults } from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Matrix } from '../../../engine/index.ts'
import { writeExplorer } from '../../../sidecar/cli/commands/matrix/html.ts'
import { HANGS_MS, newFolder, whenTheFileEnds } from '../suite/resources.ts'
import { findChromium } from './browser.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A laptop. */
export const LAPTOP = { viewport: { width: 1440, height: 900 } }

/** A small phone. */
export const PHONE = {
  viewport: { width: 360, height: 740 },
  hasTouch: true,
  isMobile: true,
  deviceScaleFactor: 2,
}

export interface OpenPage {
  readonly page: Page
  /** The browser's complaints: errors of scripts, and requests that the policy refused. */
  readonly complaints: readonly string[]
  /** URL of each request. */
  readonly requests: readonly string[]
}

/** @throws CommandFailed where Chromium cannot be had */
export async function startChromium(): Promise<Browser> {
  const executablePath = await findChromium()
  // Root has no sandbox of its own in a container.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  whenTheFileEnds(() => browser.close())
  return browser
}

/** Opens a page in a separate context, so that nothing is remembered from another one. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = LAPTOP,
): Promise<OpenPage> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  await context.grantPermissions(['clipboard-read', 'clipboard-write']).catch(() => {})
  const page = await context.newPage()
  page.setDefaultTimeout(HANGS_MS)
  const complaints: string[] = []
  const requests: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('request', (request) => requests.push(request.url()))
  await page.goto(url)
  return { page, complaints, requests }
}

/** The rows that are drawn. */
export const rowsOf = (page: Page) => page.locator('tbody tr:not(.skipped)')

/** @param column of a kind, from 1; 0 is the name */
export const cell = (page: Page, api: string, column: number) =>
  page
    .locator('tbody tr')
    .filter({ has: page.getByText(api, { exact: true }) })
    .locator('th, td')
    .nth(column)

export const panel = (page: Page) => page.getByRole('complementary')

/**
 * Expects it as soon as it is so. The limit only ends what hangs: on a busy machine everything takes its
 * time.
 */
export const soon = <T>(read: () => T) => expect.poll(read, { timeout: HANGS_MS })

/** URL of the explorer of a matrix as a file. */
export function fileOf(matrix: object): string {
  const path = join(newFolder(), 'matrix.html')
  writeExplorer(path, matrix as Matrix, false)
  return pathToFileURL(path).href
}

/** The findings of axe on the page as it is now: the rules of WCAG 2.2 A and AA, and best practices. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const { violations } = (await page.evaluate(
    'axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })',
  )) as AxeResults
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
  )
}
