/**
 * Takes the pictures of the pages, in the Chromium of this machine.
 *
 *     npm run docs:pictures
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
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
  /** Leads to what is shown. */
  readonly show: (page: Page, start: Starts) => Promise<void>
}

/** Where pages begin. */
interface Starts {
  /** URL of the explorer of the shipped matrix, as a file. */
  readonly explorer: string
  /** The link that a development sidecar prints. It works once. */
  readonly controlPanel: string
}

const PICTURES: readonly Picture[] = [
  {
    name: 'explorer',
    width: 1280,
    height: 900,
    show: async (page, { explorer }) => {
      await page.goto(`${explorer}#/matrix?cell=cdn.iam_token_project_scoped`)
      await page.locator('.conflict').waitFor()
    },
  },
  {
    name: 'control-panel',
    width: 1280,
    height: 900,
    show: async (page, { controlPanel }) => {
      await page.goto(controlPanel)
      await page.getByRole('link', { name: /^Create a service user/ }).click()
      await page.getByText('demo', { exact: true }).click()
      await page.getByRole('complementary').getByText('May be obtained').first().waitFor()
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
const starts: Starts = { explorer: pathToFileURL(explorer).href, controlPanel: await startDemo(stack) }
for (const { name, width, height, show } of PICTURES) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: 'light',
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  await show(page, starts)
  const picture = palettePng(await pixelsOf(context, await page.screenshot()))
  await context.close()
  const path = join(images, `${name}.png`)
  if (picture.length > BYTES_MAX)
    throw new Error(`expected at most ${BYTES_MAX} bytes, ${path} has ${picture.length}`)
  writeFileSync(path, picture)
  process.stdout.write(`${relative(ROOT, path)}: ${picture.length} bytes\n`)
}

/**
 * Starts a development sidecar, which is stopped when the stack is disposed.
 *
 * @returns the link that it prints
 */
async function startDemo(stack: AsyncDisposableStack): Promise<string> {
  const serve = ['serve', '--dev', '--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0']
  const child = spawn(process.execPath, [join(ROOT, 'sidecar', 'portcullis.js'), ...serve], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  stack.defer(async () => {
    child.kill()
    await once(child, 'exit')
  })
  let printed = ''
  for await (const part of child.stdout) {
    printed += part
    const [link] = /http:\S+\/#\/link\?secret=\S+(?=\n)/.exec(printed) ?? []
    if (link !== undefined) return link
  }
  throw new Error('the development sidecar ended before it printed a link')
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
