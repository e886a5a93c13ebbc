/**
 * The page as files: how much a browser loads for a first view, and what the policy of the one file allows.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { loadMatrix, supportMatrix } from '../../matrix/index.ts'
import { explorerOf } from '../../sidecar/cli/commands/matrix/html.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { command } from '../support/processes/command-line.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

/**
 * Most bytes of compressed script for a first view: of the explorer, 37 kB when this was written; and of the
 * control panel, 59 kB.
 */
const EXPLORER_BYTES_MAX = 37_500
const PANEL_BYTES_MAX = 60_000

const CONSOLE = join(ROOT, 'console/dist')
const page = () => readFileSync(join(CONSOLE, 'explorer.html'), 'utf8')

const assets = join(CONSOLE, 'assets')
const textOf = (name: string) => readFileSync(join(assets, name), 'utf8')

/** The scripts that begin so, with all that they need before they run. */
function loadedBy(...beginnings: string[]): Set<string> {
  const found = readdirSync(assets).filter(
    (name) => name.endsWith('.js') && beginnings.some((beginning) => name.startsWith(beginning)),
  )
  expect(found).toHaveLength(beginnings.length)
  const loaded = new Set(found)
  // The set grows on the way.
  for (const name of loaded)
    for (const [, imported = ''] of textOf(name).matchAll(/(?:from|import)"\.\/([\w-]+\.js)"/g))
      loaded.add(imported)
  return loaded
}

const bytesOf = (names: Iterable<string>) =>
  [...names].reduce((sum, name) => sum + gzipSync(textOf(name)).length, 0)

test('the first view has little script: what reads matrix files and the control panel come later', () => {
  const loaded = loadedBy('main-')
  expect(bytesOf(loaded)).toBeLessThan(EXPLORER_BYTES_MAX)
  expect([...loaded].filter((name) => /console\/session|must NOT have/.test(textOf(name)))).toEqual([])
  expect(bytesOf(loadedBy('main-', 'panel-', 'overview-'))).toBeLessThan(PANEL_BYTES_MAX)
})

test('the one file has no trace of the control panel', () => {
  expect(page()).not.toMatch(/console\/session|service-users|invitation|panel-style|Log in/)
})

test('the policy of the one file lets its own script and style run, and no request leave', () => {
  const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(page())?.[1] ?? ''
  const hashOf = (text = '') => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const script = /<script type="module">(.*?)<\/script>/s.exec(page())?.[1]
  const style = /<style>(.*?)<\/style>/s.exec(page())?.[1]
  expect(Object.fromEntries(policy.split('; ').map((each) => each.split(/ (.*)/s)))).toEqual({
    'default-src': "'none'",
    'script-src': hashOf(script),
    'style-src': hashOf(style),
    'img-src': 'data:',
    'base-uri': "'none'",
    'form-action': "'none'",
    'require-trusted-types-for': "'script'",
    'trusted-types': "'none'",
  })
  expect(page().match(/<(script|style|link|img|iframe)\b/g)).toEqual([
    '<link',
    '<style',
    '<script',
    '<script',
  ])
})

test('a matrix of a stranger is data in it, whatever its texts', () => {
  const title = '</script><script>alert(1)</script><!-- $& \u2028'
  const matrix = { ...supportMatrix, title }
  const written = explorerOf(page(), matrix, true)
  const [, rules = ''] = /<script type="application\/json" id="rules">(.*?)<\/script>/s.exec(written) ?? []
  expect(JSON.parse(rules)).toEqual({ matrix, mode: 'strict', verify: false })
  expect(written.match(/<script\b/g)).toHaveLength(2)
  // The rest is as it was built, so the hashes of the policy are right.
  expect(written.replace(rules, () => '<!--rules-->')).toBe(page())
})

test('`matrix --html` writes it, for the shipped matrix and for a file', async () => {
  const file = newFile(JSON.stringify({ ...supportMatrix, title: 'Ours' }), 'ours.json')
  const folder = newFolder()
  for (const [args, title, mode] of [
    [[], supportMatrix.title, 'resolved'],
    [['--matrix', file, '--strict'], 'Ours', 'strict'],
  ] as const) {
    const output = join(folder, 'matrix.html')
    const { code, stdout } = await command(['matrix', ...args, '--html', output])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/matrix\.html: the explorer of sha256:/)])
    const [, rules = ''] = /id="rules">(.*?)<\/script>/s.exec(readFileSync(output, 'utf8')) ?? []
    expect(JSON.parse(rules)).toMatchObject({ matrix: { title }, mode })
    expect(() => loadMatrix(JSON.stringify(JSON.parse(rules).matrix))).not.toThrow()
  }
})

test('`matrix --html` with --json is refused, and writes nothing', async () => {
  const output = join(newFolder(), 'matrix.html')
  const { code, stderr } = await command(['matrix', '--json', '--html', output])
  expect([code, stderr]).toEqual([2, expect.stringContaining('expected one of --html and --json')])
  expect(existsSync(output)).toBe(false)
})
