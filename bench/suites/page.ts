/**
 * The matrix explorer in Chromium: how long a user with a slow phone waits for it, and whether it keeps up
 * with a user who types, clicks and compares in a matrix of ten thousand APIs. It is compared with a plain
 * page in the same browser.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { interleave } from '../harness/compare.ts'
import { comparedRow } from '../harness/rows.ts'
import { Skips } from '../harness/skips.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { requireChromium, servePlainPage, startChromium } from '../servers/chromium.ts'
import { installPackage } from '../servers/package.ts'
import { startSidecar } from '../servers/start.ts'
import { enlargedFile } from '../workloads/matrices.ts'
import {
  cellsShown,
  clickMs,
  compare,
  type Loading,
  load,
  openPage,
  slowDown,
  worstFrameMs,
} from '../workloads/page.ts'
import { cellQuestions, shippedEngine } from '../workloads/questions.ts'

export const pageSuite: Suite = { name: 'page', needs: 'browser', run }

const SIZES = {
  full: { apis: 10_000, rounds: 9, text: 'managed databases 9', comparisons: 5 },
  smoke: { apis: 300, rounds: 1, text: 'dns', comparisons: 1 },
} as const

type Effort = (typeof SIZES)[Size]

/** How many times slower than this machine a slow phone is. */
const SLOW_PHONE = 4

const ROWS = ['first-paint', 'usable', 'usable-large', 'typing', 'typing-slow', 'opening', 'compare-block']

const LOAD_METHOD = `Chromium without a window, a screen of 360 × 740, a processor that is made ${SLOW_PHONE} times slower, an empty cache, and the sidecar and the browser on one machine: so the network takes no time. From the beginning of the navigation; usable is when a frame with rows is painted and the page takes keys again. The plain page is HTML of one row, a field and a button.`
const TYPING_METHOD =
  'The longest time between two frames while a user types ten keys a second into the search, against the same in a field that shows what is typed. Chromium makes a frame every 16.7 ms; 33 ms are thirty frames a second.'
const OPENING_METHOD =
  'From a click on a cell until its panel is painted, against a click on a button that changes a word. Both begin behind a frame and end behind the next one, so most of a small figure is the wait for it.'
const COMPARE_METHOD =
  'Another matrix file of the same size, of which a seventh differs, is read and compared. B is the time from the choice of the file until the changes are painted; A is the longest time of it in which the page took nothing.'

async function run(size: Size): Promise<SuiteReport> {
  const skips = new Skips()
  const command = await skips.obtain(ROWS, requireChromium)
  if (command === undefined) return { rows: [], skipped: skips.list, answersChecked: 0 }
  await using stack = new AsyncDisposableStack()
  const effort = SIZES[size]
  const { urls, other } = await servePages(effort.apis, stack)
  const browser = await startChromium(command, stack)
  const answersChecked = await checkCells(browser, urls.shipped)
  return {
    rows: [
      ...(await loadingRows(browser, urls, effort)),
      ...(await keepingUpRows(browser, urls, effort)),
      await comparingRow(browser, urls.large, other, effort),
    ],
    answersChecked,
  }
}

interface Urls {
  /** The explorer of the shipped matrix. */
  readonly shipped: string
  readonly large: string
  readonly plain: string
}

/**
 * Sidecars of the installed package with the page.
 *
 * @returns also the path of a matrix file to compare the large one with
 */
async function servePages(
  apis: number,
  stack: AsyncDisposableStack,
): Promise<{ readonly urls: Urls; readonly other: string }> {
  const folder = temporaryFolder(stack)
  const installed = join(folder, 'package')
  mkdirSync(installed)
  const launcher = await installPackage(installed)
  const serve = async (...flags: string[]): Promise<string> => {
    const server = await startSidecar({ launcher, flags: ['--http', '127.0.0.1:0', ...flags] })
    stack.defer(() => server.stop())
    return `http://${server.ready.http}/console/`
  }
  const large = enlargedFile({ apis, kinds: 3 }, 'Large')
  const changed = large.apis.map((api, index) => (index % 7 === 0 ? { ...api, accepts: [] } : api))
  const files = { now: large, other: { ...large, apis: changed, statements: [], conflicts: [] } }
  const [now = '', other = ''] = Object.entries(files).map(([name, matrix]) => {
    const path = join(folder, `${name}.json`)
    writeFileSync(path, JSON.stringify(matrix))
    return path
  })
  const urls = {
    shipped: await serve(),
    large: await serve('--matrix', now),
    plain: await servePlainPage(stack),
  }
  return { urls, other }
}

/**
 * @returns how many cells were compared with the engine
 * @throws Error where one of them is shown otherwise
 */
async function checkCells(browser: Browser, url: string): Promise<number> {
  const engine = shippedEngine()
  const expected = cellQuestions(engine).map((question) => engine.decide(question).allowed)
  const page = await openPage(browser, url, 1)
  const shown = await cellsShown(page)
  await page.context().close()
  if (JSON.stringify(shown) !== JSON.stringify(expected)) throw new Error('the page shows a wrong answer')
  return shown.length
}

async function loadingRows(browser: Browser, urls: Urls, { apis, rounds }: Effort): Promise<Row[]> {
  const contenders = {
    shipped: () => load(browser, urls.shipped, SLOW_PHONE),
    large: () => load(browser, urls.large, SLOW_PHONE),
    plain: () => load(browser, urls.plain, SLOW_PHONE),
  }
  // The first one brings all files into the page cache.
  await interleave(contenders, 1)
  const loadings = await interleave<keyof typeof contenders, Loading>(contenders, rounds)
  const row = (id: string, what: string, loaded: 'shipped' | 'large', of: keyof Loading): Row => {
    const samples = (which: keyof typeof contenders) => loadings[which].map((loading) => loading[of])
    const [a, b] = [
      { name: what, samples: samples(loaded) },
      { name: 'a plain page', samples: samples('plain') },
    ]
    return comparedRow({ id, what, method: LOAD_METHOD }, 'ms', a, b)
  }
  return [
    row('first-paint', 'the explorer on a slow phone, first contentful paint', 'shipped', 'paintMs'),
    row('usable', 'the explorer on a slow phone, until it can be used', 'shipped', 'usableMs'),
    row(
      'usable-large',
      `the same with ${apis.toLocaleString('en')} APIs, until it can be used`,
      'large',
      'usableMs',
    ),
  ]
}

/** Typing and opening cells in the large matrix. */
async function keepingUpRows(browser: Browser, urls: Urls, { apis, rounds, text }: Effort): Promise<Row[]> {
  const [large, plain] = [await openPage(browser, urls.large, 1), await openPage(browser, urls.plain, 1)]
  const typing = { large: () => worstFrameMs(large, text), plain: () => worstFrameMs(plain, text) }
  await interleave(typing, 1)
  const usual = await interleave(typing, rounds)
  for (const page of [large, plain]) await slowDown(page, SLOW_PHONE)
  const slow = await interleave(typing, rounds)
  for (const page of [large, plain]) await slowDown(page, 1)
  await large.locator('input[type=search]').fill('')
  let row = 0
  const opening = await interleave(
    { large: () => clickMs(large, `[data-place="${row++}:1"]`), plain: () => clickMs(plain, 'button') },
    rounds,
  )
  if ((await large.locator('.panel .verdict').count()) === 0) throw new Error('expected a cell to be open')
  for (const page of [large, plain]) await page.context().close()
  const compared = (id: string, what: string, method: string, name: string, samples: typeof usual): Row =>
    comparedRow(
      { id, what, method },
      'ms',
      { name: what, samples: samples.large },
      { name, samples: samples.plain },
    )
  const many = `${apis.toLocaleString('en')} APIs`
  return [
    compared(
      'typing',
      `typing in the search of ${many}, longest frame`,
      TYPING_METHOD,
      'a plain field',
      usual,
    ),
    compared('typing-slow', `the same, ${SLOW_PHONE} times slower`, TYPING_METHOD, 'a plain field', slow),
    compared('opening', `opening a cell of ${many}`, OPENING_METHOD, 'a plain button', opening),
  ]
}

async function comparingRow(
  browser: Browser,
  url: string,
  other: string,
  { apis, comparisons }: Effort,
): Promise<Row> {
  const totals: number[] = []
  const blocks: number[] = []
  for (let round = 0; round < comparisons; round++) {
    const page = await openPage(browser, `${url}#/compare`, 1)
    const { totalMs, blockMs } = await compare(page, other)
    await page.context().close()
    totals.push(totalMs)
    blocks.push(blockMs)
  }
  const what = `comparing two matrices of ${apis.toLocaleString('en')} APIs, longest block`
  return comparedRow(
    { id: 'compare-block', what, method: COMPARE_METHOD },
    'ms',
    { name: what, samples: blocks },
    { name: 'the comparison', samples: totals },
  )
}
