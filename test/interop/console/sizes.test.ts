/**
 * The explorer in Chromium with matrices and screens of other sizes: 10,000 APIs, 16 kinds of token, a
 * tablet.
 */
import type { Browser, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { enlargedMatrix } from '../../../bench/workloads/matrices.ts'
import { supportMatrix } from '../../../matrix/index.ts'
import {
  accessibilityFaults,
  cell,
  fileOf,
  LAPTOP,
  openPage,
  PHONE,
  panel,
  rowsOf,
  soon,
  startChromium,
} from '../../support/interop/explorer.ts'
import { obtained } from '../../support/interop/obtain.ts'

const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined

const open = (matrix: object, hash = '', options = {}) =>
  openPage(browser as Browser, `${fileOf(matrix)}${hash}`, { ...LAPTOP, ...options })

/** Whether what has the focus, or else what is selected, is in sight and under nothing. */
const isInSight = (page: Page) =>
  page.evaluate<boolean>(`(() => {
    const cell = document.activeElement.closest('[data-place]') ?? document.querySelector('[aria-selected=true]')
    const { left, right, top, bottom } = cell.getBoundingClientRect()
    const found = [left + 4, right - 4].map((x) => document.elementFromPoint(x, (top + bottom) / 2))
    return found.every((each) => each !== null && cell.contains(each))
  })()`)

describe.skipIf(!browser)('with 10,000 APIs', () => {
  const focusedRow = (page: Page) =>
    page.evaluate<string>(`document.activeElement?.closest('tr')?.getAttribute('aria-rowindex')`)
  const apis = Array.from({ length: 10_000 }, (_, index) => ({
    id: `api-${index}`,
    title: `Product number ${index}`,
    accepts: [index % 3 === 0 ? 'static_token' : 'iam_token_account_scoped'],
    section: '§1',
  }))
  const matrix = { ...supportMatrix, apis, statements: [], conflicts: [] }

  test('few rows are drawn, all are counted, and the last one is a key away', async () => {
    const { page } = await open(matrix)
    await rowsOf(page).first().waitFor()
    expect(await rowsOf(page).count()).toBeLessThan(120)
    expect(await page.getByRole('grid').getAttribute('aria-rowcount')).toBe('10001')
    await page.locator('[data-place="0:0"]').focus()
    await page.keyboard.press('Control+End')
    await soon(() => focusedRow(page)).toBe('10001')
    await page.mouse.move(400, 400)
    await page.mouse.wheel(0, -100_000)
    // The focus is still there, out of sight.
    await page.keyboard.press('ArrowUp')
    await soon(() => focusedRow(page)).toBe('10000')
    await page.getByRole('searchbox').fill('number 9876')
    await soon(() => rowsOf(page).count()).toBe(1)
  })

  test('a link leads to a cell that is far down', async () => {
    const { page } = await open(matrix, '#/matrix?cell=api-9000~static_token')
    await soon(() => panel(page).textContent()).toMatch(/Product number 9000.*ALLOWED/s)
    await soon(() => isInSight(page)).toBe(true)
    // Another search begins at the top.
    await page.getByRole('searchbox').fill('product')
    await soon(() => page.evaluate<number>(`document.querySelector('.scroll').scrollTop`)).toBe(0)
  })
})

describe.skipIf(!browser)('with 16 kinds of token', () => {
  const matrix = { ...enlargedMatrix({ apis: 60, kinds: 16 }), statements: [], conflicts: [] }

  test('the keys lead to the last kind, and what has the focus is in sight', async () => {
    const { page } = await open(matrix)
    await rowsOf(page).first().waitFor()
    await page.locator('[data-place="0:0"]').focus()
    await page.keyboard.press('Control+End')
    await soon(() => page.evaluate('document.activeElement?.dataset.place')).toBe('59:16')
    await soon(() => isInSight(page)).toBe(true)
    for (let column = 16; column > 1; column--) await page.keyboard.press('ArrowLeft')
    await soon(() => isInSight(page)).toBe(true)
    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('every kind can be filtered for', async () => {
    const { page } = await open(matrix)
    const kinds = page.locator('.filters .chip:not(.mono):not(.contested):not([aria-expanded])')
    await soon(() => kinds.count()).toBe(6)
    await page.getByRole('button', { name: '10 more kinds' }).click()
    await soon(() => kinds.count()).toBe(16)
  })

  test('a phone shows the names and the first kinds', async () => {
    const { page } = await open(matrix, '', PHONE)
    const box = await cell(page, 'IAM (users and roles)', 3).boundingBox()
    expect((box?.x ?? 1000) + (box?.width ?? 1000)).toBeLessThanOrEqual(360)
  })
})

describe.skipIf(!browser)('on a tablet', () => {
  test.each([900, 768])('of %d pixels the panel leaves its cell in sight', async (width) => {
    const { page } = await open(supportMatrix, '', { viewport: { width, height: 1100 } })
    for (const column of [3, 2, 1]) {
      await cell(page, 'Balance', column).click()
      await soon(() => panel(page).getByRole('heading', { level: 2 }).textContent()).toMatch(/^Balance/)
      await soon(() => isInSight(page)).toBe(true)
      await page.keyboard.press('Escape')
    }
  })
})
