/** The documentation as a site (`npm run site`), read in Chromium from a server that knows only files. */
import { createReadStream, existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import type { Browser } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { repository, run } from '../support/interop/command.ts'
import {
  accessibilityFaults,
  LAPTOP,
  openPage,
  PHONE,
  rowsOf,
  soon,
  startChromium,
} from '../support/interop/explorer.ts'
import { available, obtained } from '../support/interop/obtain.ts'
import { whenTheFileEnds } from '../support/suite/resources.ts'

const SITE = join(repository, 'dist/site')
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}
const INSTALL = "import('./scripts/on-demand.ts').then(({ installOnDemand }) => installOnDemand('site'))"

const built = await available(
  'the packages of the site',
  () => run(process.execPath, ['--eval', INSTALL]),
  () => run(process.execPath, ['scripts/site.ts']),
)
const started = await obtained('Chromium', startChromium)
const browser = started.ok ? started.value : undefined

describe.skipIf(!built.ok)('the site', () => {
  test('each link and each anchor leads somewhere, and no page loads anything from another host', () => {
    const pages = new Map(globSync('**/*.html', { cwd: SITE }).map((path) => [`/${path}`, readPage(path)]))
    const faults: string[] = []
    for (const [from, { links, loaded }] of pages) {
      for (const source of loaded)
        if (!source.startsWith('/') && !source.startsWith('data:')) faults.push(`${from} loads ${source}`)
      for (const link of [...links, ...loaded]) {
        const url = new URL(link, `http://site${from}`)
        if (url.host !== 'site') continue
        const path = decodeURI(url.pathname).replace(/\/$/, '/index.html')
        const anchor = decodeURIComponent(url.hash.slice(1))
        const page = pages.get(path)
        // The explorer has states in place of anchors.
        const isFound =
          page === undefined || anchor === '' || path === '/explorer.html' || page.ids.has(anchor)
        if (!isFound || !existsSync(join(SITE, path))) faults.push(`${from} → ${link}`)
      }
    }
    expect(faults).toEqual([])
    expect(pages.size).toBeGreaterThan(100)
  })

  describe.skipIf(!browser)('in Chromium', async () => {
    const origin = await serveSite()
    const open = (path: string, device = LAPTOP) => openPage(browser as Browser, `${origin}${path}`, device)

    describe.each([
      ['a laptop', LAPTOP],
      ['a phone', PHONE],
    ])('on %s', (_, device) => {
      test.each([
        '/',
        '/start.html',
        '/use/clients.html',
        '/operate/deployment.html',
        '/integrate/keystone.html',
        '/decide/security.html',
        '/api/engine/index.html',
      ])('%s fits, is readable for all, and sends no request to others', async (path) => {
        const { page, complaints, requests } = await open(path, device)
        await page.getByRole('heading', { level: 1 }).first().waitFor()
        const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
        expect(await page.evaluate<number>(overflow)).toBe(0)
        expect(await accessibilityFaults(page)).toEqual([])
        expect(requests.filter((url) => !url.startsWith(origin) && !url.startsWith('data:'))).toEqual([])
        expect(complaints).toEqual([])
      })
    })

    test('a search leads to the page that explains it', async () => {
      const { page } = await open('/')
      await page.getByRole('button', { name: /Search/ }).click()
      await page.getByRole('searchbox').fill('pepper')
      await page.getByRole('option').first().click()
      await soon(() => page.locator('main').textContent()).toMatch(/pepper/)
      expect(page.url()).not.toBe(`${origin}/`)
    })

    test('the playground is the explorer, and the reference has what a program imports', async () => {
      const { page } = await open('/')
      await page.getByRole('link', { name: 'Playground' }).first().click()
      await rowsOf(page).first().waitFor()
      expect(await rowsOf(page).count()).toBe(30)
      const { page: reference } = await open('/api/typescript/index.html')
      await reference.getByRole('main').getByRole('link', { name: 'index' }).click()
      await reference.getByRole('main').getByRole('link', { name: 'connect', exact: true }).click()
      await soon(() => reference.getByRole('main').textContent()).toMatch(/connect\(.*Client/s)
    })
  })
})

interface Html {
  readonly ids: ReadonlySet<string>
  readonly links: readonly string[]
  readonly loaded: readonly string[]
}

function readPage(path: string): Html {
  const html = readFileSync(join(SITE, path), 'utf8')
  const all = (pattern: RegExp) =>
    Array.from(html.matchAll(pattern), ([, value = '']) => value.replaceAll('&amp;', '&'))
  return {
    ids: new Set(all(/\sid="([^"]*)"/g)),
    links: all(/<a\s[^>]*?href="([^"]*)"/g),
    loaded: [...all(/<(?:script|img|iframe)\s[^>]*?src="([^"]*)"/g), ...all(/<link\s[^>]*?href="([^"]*)"/g)],
  }
}

async function serveSite(): Promise<string> {
  const server = createServer(({ url = '/' }, response) => {
    const path = decodeURI(new URL(url, 'http://site').pathname)
    const file = join(SITE, path.endsWith('/') ? `${path}index.html` : path)
    if (!existsSync(file) || statSync(file).isDirectory()) return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' })
    createReadStream(file).pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenTheFileEnds(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
