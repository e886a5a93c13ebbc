/**
 * Takes the pictures of the pages, in the Chromium of this machine. Each has a digest of what it shows in
 * itself, so that a test notices when it is old.
 *
 *     node scripts/pictures.ts
 */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, transform } from 'esbuild'
import type { BrowserContext, Page } from 'playwright-core'
import { requireChromium, startChromium } from '../bench/servers/chromium.ts'
import { generate } from './generate.ts'
import { ROOT } from './packages.ts'
import { type Pixels, palettePng } from './palette-png.ts'

interface Picture {
  /** Of the file in `docs/images/`. */
  readonly name: string
  readonly width: number
  readonly height: number
  /** The components that draw what is shown; those that they import belong to them. */
  readonly drawnBy: readonly string[]
  readonly styles: readonly string[]
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

export const PICTURES: readonly Picture[] = [
  {
    name: 'explorer',
    width: 1280,
    height: 900,
    drawnBy: ['console/ui/matrix-page.tsx'],
    styles: ['console/styles/page.css'],
    show: async (page, { explorer }) => {
      await page.goto(`${explorer}#/matrix?cell=cdn~iam_token_project_scoped`)
      await page.locator('.conflict').waitFor()
    },
  },
  {
    name: 'control-panel',
    width: 1280,
    height: 900,
    drawnBy: [
      'console/panel/menu.tsx',
      'console/panel/model/pages.ts',
      'console/panel/pages/service-users.tsx',
    ],
    styles: ['console/styles/page.css', 'console/styles/panel.css'],
    show: async (page, { controlPanel }) => {
      await page.goto(controlPanel)
      await page.getByRole('link', { name: /^Create a service user/ }).click()
      await page.getByText('demo', { exact: true }).click()
      await page.getByRole('complementary').getByText('May be obtained').first().waitFor()
    },
  },
]

/** Every reader of the page loads them. */
const BYTES_MAX = 150_000

/** Where they are. */
export const IMAGES = join(ROOT, 'docs', 'images')

if (import.meta.main) await takePictures()

async function takePictures(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-pictures-'))
  mkdirSync(IMAGES, { recursive: true })
  await generate()
  const explorer = join(folder, 'matrix.html')
  execFileSync(process.execPath, [join(ROOT, 'sidecar', 'portcullis.js'), 'matrix', '--html', explorer])
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(folder, { recursive: true }))
  const browser = await startChromium(await requireChromium(), stack)
  const starts: Starts = { explorer: pathToFileURL(explorer).href, controlPanel: await startDemo(stack) }
  for (const picture of PICTURES) {
    const { name, width, height, show } = picture
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: 'light',
      reducedMotion: 'reduce',
    })
    const page = await context.newPage()
    await show(page, starts)
    const png = palettePng(await pixelsOf(context, await page.screenshot()), await digestOf(picture))
    await context.close()
    const path = join(IMAGES, `${name}.png`)
    if (png.length > BYTES_MAX)
      throw new Error(`expected at most ${BYTES_MAX} bytes, ${path} has ${png.length}`)
    writeFileSync(path, png)
    process.stdout.write(`${relative(ROOT, path)}: ${png.length} bytes\n`)
  }
}

/**
 * A digest of what a picture shows: the markup and texts, the styles and the matrix. Code that does not draw
 * is left out, and so are comments and types.
 */
export async function digestOf({ drawnBy, styles }: Picture): Promise<string> {
  const { metafile, outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...drawnBy, ...styles],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    outdir: 'unused',
  })
  const sources = new Set(drawnBy)
  // The loop adds to the set that it iterates over.
  for (const source of sources)
    for (const { path } of metafile.inputs[source]?.imports ?? [])
      if (/^console\/(texts\/|.*\.tsx$)/.test(path)) sources.add(path)
  // The top of every view, and its menu. It imports all views, which are not in the picture.
  sources.add('console/ui/app.tsx').add('console/model/view.ts')
  const hash = createHash('sha256').update(readFileSync(join(ROOT, 'matrix/support-matrix.json')))
  for (const source of [...sources].sort())
    hash.update(
      (await transform(readFileSync(join(ROOT, source)), { loader: 'tsx', jsx: 'automatic', minify: true }))
        .code,
    )
  for (const { path, text } of outputFiles) if (path.endsWith('.css')) hash.update(text)
  return hash.digest('hex').slice(0, 16)
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
