/**
 * Takes the pictures of the pages, in the Chromium of this machine.
 *
 *     npm run docs:pictures
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'
import { requireChromium, startChromium } from '../bench/servers/chromium.ts'
import { buildConsole } from './console.ts'
import { ROOT } from './packages.ts'
import { type Pixels, palettePng } from './palette-png.ts'

interface Picture {
  /** Of the file in `docs/images/`. */
  readonly name: string
  readonly width: number
  readonly height: number
  /** Leads to what is shown. @param explorer URL of the explorer of the shipped matrix, as a file */
  readonly show: (page: Page, explorer: string) => Promise<void>
}

const PICTURES: readonly Picture[] = [
  {
    name: 'explorer',
    width: 1280,
    height: 900,
    show: async (page, explorer) => {
      await page.goto(`${explorer}#/matrix?cell=cdn.iam_token_project_scoped`)
      await page.locator('.conflict').waitFor()
    },
  },
]

/** Everybody who reads the page loads them. */
const BYTES_MAX = 150_000

const folder = mkdtempSync(join(tmpdir(), 'portcullis-pictures-'))
const images = join(ROOT, 'docs', 'images')
mkdirSync(images, { recursive: true })
await buildConsole(join(ROOT, 'console/dist'))
const explorer = join(folder, 'matrix.html')
execFileSync(process.execPath, [join(ROOT, 'sidecar', 'portcullis.js'), 'matrix', '--html', explorer])
await using stack = new AsyncDisposableStack()
stack.defer(() => rmSync(folder, { recursive: true }))
const browser = await startChromium(await requireChromium(), stack)
for (const { name, width, height, show } of PICTURES) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: 'light',
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  await show(page, pathToFileURL(explorer).href)
  const picture = palettePng(await pixelsOf(context, await page.screenshot()))
  await context.close()
  const path = join(images, `${name}.png`)
  if (picture.length > BYTES_MAX)
    throw new Error(`expected at most ${BYTES_MAX} bytes, ${path} has ${picture.length}`)
  writeFileSync(path, picture)
  process.stdout.write(`${relative(ROOT, path)}: ${picture.length} bytes\n`)
}

/** The browser reads its own picture. */
async function pixelsOf(context: BrowserContext, png: Buffer): Promise<Pixels> {
  const page = await context.newPage()
  const [width, height, base64] = await page.evaluate<[number, number, string]>(`(async () => {
    const response = await fetch('data:image/png;base64,${png.toString('base64')}')
    const bitmap = await createImageBitmap(await response.blob())
    const { width, height } = bitmap
    const canvas = new OffscreenCanvas(width, height).getContext('2d')
    canvas.drawImage(bitmap, 0, 0)
    return [width, height, new Uint8Array(canvas.getImageData(0, 0, width, height).data.buffer).toBase64()]
  })()`)
  return { width, height, rgba: Buffer.from(base64, 'base64') }
}
