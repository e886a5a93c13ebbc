/** Chromium, and a page with the clients that Connect generates of the protos. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'esbuild'
import { newFolder, whenTheFileEnds } from '../suite/resources.ts'
import { CommandFailed, installed, interopFolder, repository, run, runBuf } from './command.ts'

const SOURCES = join(interopFolder, 'connect', 'browser')
const PACKAGES = ['package.json', 'package-lock.json']

export interface Browser {
  /** Path of Chromium. */
  readonly chromium: string
  /** The folder with the packages of the page. */
  readonly packages: string
}

/** @throws CommandFailed where one of them cannot be had */
export async function installBrowser(): Promise<Browser> {
  const chromium = await findChromium()
  const key = PACKAGES.map((name) => readFileSync(join(SOURCES, name), 'utf8'))
  const packages = await installed('browser', key, async (folder) => {
    for (const name of PACKAGES) cpSync(join(SOURCES, name), join(folder, name))
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
  })
  return { chromium, packages }
}

/**
 * Chromium of the machine. Debian's has more than a hundred packages, so it is installed and not unpacked, by
 * root alone.
 */
export async function findChromium(): Promise<string> {
  try {
    await run('chromium', ['--version'])
  } catch (error) {
    if (!(error instanceof CommandFailed) || process.getuid?.() !== 0) throw error
    // Other tests may install something, too.
    const flags = ['--yes', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=600']
    await run('apt-get', ['install', ...flags, 'chromium'])
  }
  return (await run('which', ['chromium'])).trim()
}

/** The script of the page, with clients that are generated now. */
export async function bundlePage({ packages }: Browser): Promise<string> {
  // Beside the packages, so that the page finds them.
  const folder = join(packages, 'page')
  mkdirSync(folder, { recursive: true })
  const plugin = join(packages, 'node_modules', '.bin', 'protoc-gen-es')
  const template = {
    version: 'v2',
    plugins: [{ local: plugin, out: folder, opt: 'target=ts', include_imports: true }],
  }
  await runBuf(['generate', 'proto', '--template', JSON.stringify(template)], { cwd: repository })
  cpSync(join(SOURCES, 'page.mjs'), join(folder, 'page.mjs'))
  const outfile = join(newFolder(), 'page.js')
  await build({
    entryPoints: [join(folder, 'page.mjs')],
    bundle: true,
    format: 'iife',
    outfile,
    logLevel: 'silent',
  })
  return readFileSync(outfile, 'utf8')
}

/** Serves the page. @returns its origin */
export async function servePage(script: string): Promise<string> {
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? script : '<!doctype html><title>page</title><script src="/page.js"></script>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenTheFileEnds(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Path of the program that opens the page and asks it. */
export function driverOf({ packages }: Browser): string {
  const path = join(packages, 'drive.mjs')
  writeFileSync(path, readFileSync(join(SOURCES, 'drive.mjs')))
  return path
}
