/**
 * The pages as texts: how long they are, what they link and name, and that they speak of the product as it
 * is.
 */
import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readAgentConfig } from '../../sidecar/config/agent-config.ts'
import { readConfig } from '../../sidecar/config/config.ts'
import { ROOT, sources } from '../support/checkout/sources.ts'
import { commandsOf } from '../support/interop/client-commands.ts'
import { newFolder } from '../support/suite/resources.ts'
import { comparable, shownAs } from './outputs.ts'
import { blocksOf, fileOf, needOf, type Page, pageOf, pages, userPages } from './page.ts'

test.each([
  ['README.md', 150],
  ['ARCHITECTURE.md', 90],
  ['test/README.md', 80],
])('%s has at most %i lines', (path, linesMax) => {
  expect(pageOf(path).text.trimEnd().split('\n').length).toBeLessThanOrEqual(linesMax)
})

test('README.md leads to docs/README.md, and that to every page for users', () => {
  expect(linksOf('README.md')).toContain('docs/README.md')
  const others = userPages.map(({ path }) => path).filter((path) => !/README\.md$/.test(path))
  const listed = linksOf('docs/README.md')
  expect(others.filter((path) => !listed.includes(path))).toEqual([])
  expect(new Set(listed).size, 'each is listed once').toBe(listed.length)
})

test('test/README.md says of every folder of tests what it is for', () => {
  const folders = globSync('*/', { cwd: join(ROOT, 'test') }).map((path) => basename(path))
  const { text } = pageOf('test/README.md')
  expect(folders.filter((folder) => !new RegExp(`^#.*\`${folder}\``, 'm').test(text))).toEqual(['support'])
})

// test/interop/clients runs the second one.
test.each(['go', 'java', 'python', 'rust', 'typescript'])(
  'clients/%s/README.md has two commands that build and test the client in a clean clone',
  (language) => {
    expect(commandsOf(language).build).toMatch(/^npm ci\b/)
  },
)

describe.each(pages)('$path', (page) => {
  test('links lead somewhere', () => {
    for (const { target, anchor } of linksIn(page)) {
      const file = target === '' ? page.path : join(dirname(page.path), target)
      expect(existsSync(join(ROOT, file)), file).toBe(true)
      if (anchor !== undefined) expect(anchorsOf(pageOf(file)), `${file}#${anchor}`).toContain(anchor)
    }
  })

  test('prose is one line a paragraph', () => {
    expect(wrappedLinesIn(page)).toEqual([])
  })

  test('no table has a row twice', () => {
    expect(tablesIn(page).flatMap(doubledRows)).toEqual([])
  })

  test('every file and folder that is named is there', () => {
    const missing = pathsIn(page).filter((path) => !existsSync(join(ROOT, path)))
    // The changelog speaks of what was, too.
    if (page.path !== 'CHANGELOG.md') expect(missing).toEqual([])
  })
})

test('the runbook of every alert is a section of a page', () => {
  const rules = readFileSync(join(ROOT, 'deploy/prometheus/portcullis.rules.yaml'), 'utf8')
  const alerts: { alert: string; annotations: { runbook_url?: string } }[] = parse(rules).groups[0].rules
  for (const { alert, annotations } of alerts) {
    // As `npm run site` makes them.
    const [, page, anchor] =
      /^https:\/\/portcullis\.example\/(.+)\.html#(.+)$/.exec(annotations.runbook_url ?? '') ?? []
    expect(anchorsOf(pageOf(`docs/${page}.md`)), alert).toContain(anchor)
  }
  expect(alerts.length).toBeGreaterThan(10)
})

test('the reader of paragraphs finds wrapped lines, and finds no other line', () => {
  const whole = '# a\nb\n\n- c\n  - d\n1. e\n\n> f\n\n| g |\n|---|\n| h |\n\n<img>\n\n```sh\ni\nj\n```\n'
  expect(wrappedLinesIn({ text: whole })).toEqual([])
  const wrapped = 'a\nb\n\n- c\n  d\n\n1. e\nf\n\n> g\n> h\n\n```sh\ni\n```\nj\nk\n'
  expect(wrappedLinesIn({ text: wrapped })).toEqual(['b', 'd', 'f', 'h', 'k'])
})

test('the reader of tables finds a row that is there twice', () => {
  const text = '| a |\n|---|\n| `x` | 1 |\n| `x` | 2 |\n| y | 1 |\n| y | 2 |\n| y | 1 |\n\n| `x` | 1 |\n'
  expect(tablesIn({ text }).map(doubledRows)).toEqual([['| `x` | 2 |', '| y | 1 |'], []])
})

test('every picture says what it shows to those who do not see it, and is loaded in a moment', () => {
  const pictures = pages.flatMap(({ path, text }) =>
    Array.from(
      text.matchAll(/<img src="([^"]+\.png)" width="\d+%" alt="([^"]*)">/g),
      ([, target = '', says = '']) => ({
        says,
        file: join(ROOT, dirname(path), target),
      }),
    ),
  )
  // Each is written in the one way in which its width can be said.
  const named = pages.flatMap(({ text }) => proseOf(text).match(/\.png/g) ?? [])
  expect(pictures).toHaveLength(named.length)
  expect(pictures).not.toHaveLength(0)
  for (const { says, file } of pictures) {
    expect(says.length, file).toBeGreaterThan(20)
    expect(statSync(file).size, file).toBeLessThanOrEqual(150_000)
  }
})

test('every npm script that is named is there', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const named = pages.flatMap(({ text }) =>
    Array.from(text.matchAll(/\bnpm run ([\w:]+)/g), ([, name = '']) => name),
  )
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
})

test('the reader of named files finds those of a page', () => {
  const text = 'see `engine/rule.ts`, `sidecar/base/`, `matrix/document/` and `npm run docs`, not `iam/x`'
  expect(pathsIn({ path: 'x.md', text })).toEqual(['engine/rule.ts', 'sidecar/base/', 'matrix/document/'])
})

test('no page for users cites a section of the source, but where an output does', () => {
  const citing = userPages.flatMap(({ path, text }) =>
    proseOf(text)
      .split('\n')
      .filter((line) => line.includes('§') && !line.includes('is a section of'))
      .map((line) => `${path}: ${line}`),
  )
  expect(citing).toEqual([])
})

describe('docs/operate/troubleshooting.md', () => {
  const page = pageOf('docs/operate/troubleshooting.md')
  /** In the first column: messages, and reasons in capitals. */
  const quoted = Array.from(page.text.matchAll(/^\| `([^`]+)`/gm), ([, message = '']) => message)
  const code = sources
    .filter(({ path }) => /^(engine|matrix|sidecar|clients)\//.test(path))
    .map(({ text }) => text)

  test.each(quoted)('`%s` is what the product says', (message) => {
    // A line of the sources has all its parts, in this order; an ellipsis is a difference.
    const parts = message.split('…').map((part) => part.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    const pattern = new RegExp(`['"\`(].*${parts.join('.*')}`)
    expect(code.some((text) => pattern.test(text))).toBe(true)
  })

  test('says something of every reason for which a check is denied', () => {
    const denials = Array.from(
      pageOf('docs/use/embedding.md').text.matchAll(/^\| `([A-Z_]+)` \| [45]/gm),
      ([, reason]) => reason,
    )
    expect(quoted).toEqual(expect.arrayContaining(denials))
  })
})

const yamlBlocks = userPages.flatMap((page) =>
  blocksOf(page)
    .filter((block) => block.language === 'yaml' && needOf(block) === undefined)
    .map((block) => ({ page, block, file: fileOf(block) ?? '' })),
)
// Other files are read by the commands of their pages.
const OTHERS = ['directory.yaml', 'agent.yaml', 'allowed.yaml']
const configurations = yamlBlocks.filter(
  ({ file }) => !OTHERS.includes(file) && !file.endsWith('policy-tests.yaml'),
)

test.each(configurations)('$page.path:$block.line is accepted as a configuration', ({ block }) => {
  const folder = newFolder()
  const file = join(folder, 'config.yaml')
  writeFileSync(file, block.text)
  expect(readConfig({ file })).toMatchObject(parse(block.text))
})

test.each(yamlBlocks.filter(({ file }) => file === 'agent.yaml'))(
  '$page.path:$block.line is accepted as a configuration of the agent',
  ({ block }) => {
    const file = join(newFolder(), 'agent.yaml')
    writeFileSync(file, block.text)
    expect(readAgentConfig(file).tokens).toHaveLength(parse(block.text).tokens.length)
  },
)

describe('outputs are compared', () => {
  test.each<[shown: string, printed: string, same: boolean]>([
    ['denied  iam', 'denied iam\n', true],
    ['denied iam', 'denied balance\n', false],
    ['expires 2026-11-22T08:29:55.000Z', 'expires 2030-01-01T00:00:00Z', true],
    [
      'value  pcst_exikOq5O1g2n2l9frheBtBVV2odo46m96X4aF5BBWew168tVB',
      'value pcst_4MTIlgcByrXM2MvkudvLXQYvm6VW4YZu5M4GU4nKNB',
      true,
    ],
    ['iam_token_account_scoped', 'iam_token_project_scoped', false],
    ['a … c', 'a b c', true],
    ['a … c', 'a b d', false],
    ['…\nlast', 'first\nsecond\nlast\n', true],
    ['…\nlast', 'last\nbut one\n', false],
    ['first', 'first\nsecond\n', false],
  ])('%j and %j: %s', (shown, printed, same) => {
    expect(shownAs(shown).test(`${comparable(printed)}\n`)).toBe(same)
  })
})

interface Link {
  /** Path from the page's folder; empty: the page itself. */
  readonly target: string
  readonly anchor: string | undefined
}

function linksIn({ text }: Page): Link[] {
  return Array.from(
    proseOf(text).matchAll(/\]\(([^)\s#]*)(?:#([^)\s]+))?\)/g),
    ([, target = '', anchor]) => ({
      target,
      anchor,
    }),
  ).filter(({ target }) => !/^https?:/.test(target))
}

/** The files that a page links, from the root. */
function linksOf(path: string): string[] {
  return linksIn(pageOf(path)).map(({ target }) => join(dirname(path), target))
}

/** The tables of a page, as their rows. */
function tablesIn({ text }: Pick<Page, 'text'>): string[][] {
  return Array.from(proseOf(text).matchAll(/(?:^\|.*\n)+/gm), ([table]) => table.trimEnd().split('\n'))
}

/**
 * Rows that repeat an earlier one: its first cell, where that is a key, a reason or a message; or all of it.
 */
function doubledRows(table: readonly string[]): string[] {
  const keys = table.map((row) => /^\| (`[^|]*)\|/.exec(row)?.[1] ?? row)
  return table.filter((_row, index) => keys.indexOf(keys[index] ?? '') < index)
}

/** The anchors that GitHub makes of headings. */
function anchorsOf({ text }: Page): string[] {
  return Array.from(proseOf(text).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** The texts in backticks that are a path of the checkout by its first folder. */
function pathsIn({ text }: Pick<Page, 'path' | 'text'>): string[] {
  const FOLDERS = 'engine|matrix|proto|sidecar|clients|bench|scripts|test|docs|\\.ci'
  return Array.from(
    proseOf(text).matchAll(new RegExp(`\`((?:${FOLDERS})/[\\w./-]*)\``, 'g')),
    ([, path = '']) => path,
  )
}

/** Lines that go on with the paragraph, the list item or the quotation of the line before. */
function wrappedLinesIn({ text }: Pick<Page, 'text'>): string[] {
  const lines = text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '\n').split('\n')
  const goesOn = (line: string) => /^\s*[^\s#|<]/.test(line) && !/^\s*([-*>]|\d+\.) /.test(line)
  return lines
    .map((line) => (/^> /.test(line) ? { quoted: true, line: line.slice(2) } : { quoted: false, line }))
    .filter(({ quoted, line }, index, all) => {
      const before = all[index - 1]
      if (before === undefined || before.quoted !== quoted) return false
      return goesOn(line) && /^\s*[^\s#|<]/.test(before.line)
    })
    .map(({ line }) => line.trim())
}

/** Without the fenced blocks. */
function proseOf(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '')
}
