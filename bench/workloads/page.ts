/**
 * The acts of a user on a page, and the waits for it. All of it is measured in the page, by its own clock.
 */
import type { Browser, Page } from 'playwright-core'

/** A small phone: its screen, and how many times slower than this machine it is. */
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 }

/** Runs before the page: the first frame after which rows are there, and a clock for what follows. */
const WATCH = `
globalThis.bench = {}
const look = () => {
  if (document.querySelector('tbody tr:not(.skipped)')) setTimeout(() => { bench.usable = performance.now() })
  else requestAnimationFrame(look)
}
requestAnimationFrame(look)
`

export interface Loading {
  /** First contentful paint, in milliseconds from the beginning of the navigation. */
  readonly paintMs: number
  /** Until a frame with rows is painted, and the page takes what its user does. */
  readonly usableMs: number
}

/** Opens a page on a phone that has never seen it, slower than this machine by a factor. */
export async function load(browser: Browser, url: string, slowdown: number): Promise<Loading> {
  const page = await openPage(browser, url, slowdown, PHONE)
  const loading = {
    paintMs: await settled(page, `performance.getEntriesByName('first-contentful-paint')[0]?.startTime`),
    usableMs: await settled(page, 'bench.usable'),
  }
  await page.context().close()
  return loading
}

/** Opens a page in a new context, which shares no memory with another one. */
export async function openPage(browser: Browser, url: string, slowdown: number, options = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options })
  const page = await context.newPage()
  await page.addInitScript(WATCH)
  await slowDown(page, slowdown)
  await page.goto(url)
  await page.locator('tbody tr, .drop').first().waitFor()
  return page
}

export async function slowDown(page: Page, rate: number): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate })
}

/** How long a key waits for the next one, in milliseconds: ten a second is fast typing. */
const KEY_MS = 100

/**
 * Types into the field for searches.
 *
 * @returns the longest time between two frames meanwhile, in milliseconds
 */
export async function worstFrameMs(page: Page, text: string): Promise<number> {
  const field = page.locator('input[type=search]')
  await field.fill('')
  await field.focus()
  await page.evaluate(`
    bench.worst = 0
    bench.typing = true
    let last = Number.POSITIVE_INFINITY
    const frame = (now) => {
      bench.worst = Math.max(bench.worst, now - last)
      last = now
      if (bench.typing) requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  `)
  await page.keyboard.type(text, { delay: KEY_MS })
  return page.evaluate<number>('bench.typing = false, bench.worst')
}

/**
 * Clicks at the beginning of a frame.
 *
 * @returns how long it takes until its result is painted, in milliseconds
 */
export function clickMs(page: Page, selector: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    const target = document.querySelector('${selector}')
    requestAnimationFrame(() => setTimeout(() => {
      const start = performance.now()
      target.click()
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)))
    }))
  })`)
}

export interface Comparing {
  /** From the choice of the file until all changes are counted and the first are painted. */
  readonly totalMs: number
  /** For how long the page took nothing at most. */
  readonly blockMs: number
}

/** Compares with another matrix file, on the page that does that. */
export async function compare(page: Page, path: string): Promise<Comparing> {
  // The page begins with an example, whose changes must not be taken for those of the file.
  await page.locator('.changes').first().waitFor()
  await page.evaluate(`
    bench.block = 0
    bench.start = undefined
    bench.total = undefined
    const shown = () => document.querySelector('.changes')?.textContent
    const example = shown()
    let last = performance.now()
    addEventListener('change', () => { bench.start = performance.now() }, true)
    const turn = () => {
      const now = performance.now()
      if (bench.start !== undefined) bench.block = Math.max(bench.block, now - last)
      last = now
      if (bench.start === undefined || shown() === undefined || shown() === example) setTimeout(turn)
      else requestAnimationFrame(() => setTimeout(() => {
        bench.block = Math.max(bench.block, performance.now() - last)
        bench.total = performance.now() - bench.start
      }))
    }
    setTimeout(turn)
  `)
  await page.locator('input[type=file]').setInputFiles(path)
  return {
    totalMs: await settled(page, 'bench.total'),
    blockMs: await page.evaluate<number>('bench.block'),
  }
}

/** It only ends what hangs. */
const SETTLED_MS_MAX = 60_000

/**
 * A number of the page, as soon as it is there. The page looks itself: its policy forbids code that is made
 * of a text.
 */
function settled(page: Page, expression: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve, reject) => {
    const end = performance.now() + ${SETTLED_MS_MAX}
    const look = () => {
      const value = ${expression}
      if (value !== undefined) resolve(value)
      else if (performance.now() > end) reject(new Error('the page does not settle'))
      else setTimeout(look, 20)
    }
    look()
  })`)
}

/** The answer of each drawn cell, in the order of the rows: whether it is allowed. */
export function cellsShown(page: Page): Promise<boolean[]> {
  return page.evaluate<boolean[]>(
    `[...document.querySelectorAll('tbody tr:not(.skipped) td .mark')].map((mark) => mark.dataset.state.startsWith('allowed'))`,
  )
}
