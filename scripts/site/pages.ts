/**
 * The pages of the site: those of the checkout, with links that lead within the site. A target beside other
 * pages (a configuration, a folder of manifests, a source file) becomes a page that shows it.
 */
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, extname, join, posix, relative } from 'node:path'
import { ROOT } from '../packages.ts'

/** An entry of the navigation. `link` is the path of a page, without its ending. */
interface Entry {
  readonly text: string
  readonly link: string
}

export interface Section {
  readonly text: string
  readonly items: readonly Entry[]
}

/** The entry of a page of the checkout, with its title. */
export function entryOf(path: string): Entry {
  const [, text = path] = /^# (.*)/m.exec(readFileSync(join(ROOT, path), 'utf8')) ?? []
  return { text, link: linkTo(pagesOf().get(path) ?? path) }
}

function linkTo(place: string): string {
  return `/${place.slice(0, -'.md'.length)}`
}

/** Pages, by where they are in the checkout → where they are in the site. */
function pagesOf(): Map<string, string> {
  const pages = new Map([
    ['README.md', 'start.md'],
    ['docs/README.md', 'documentation.md'],
  ])
  for (const path of globSync('docs/**/*.md', { cwd: ROOT }))
    if (!pages.has(path)) pages.set(path, path.slice('docs/'.length))
  for (const path of globSync('{engine,matrix,sidecar,clients/*,examples/*}/README.md', { cwd: ROOT }))
    pages.set(path, `${/^(clients|examples)/.test(path) ? '' : 'packages/'}${dirname(path)}.md`)
  for (const name of ['ARCHITECTURE', 'CHANGELOG', 'CONTRIBUTING', 'SECURITY'])
    pages.set(`${name}.md`, `project/${name.toLowerCase()}.md`)
  return pages
}

/** Of a folder with more, only the names of the files are shown. */
const FILES_MAX = 40
/** A longer file is not shown. */
const SHOWN_BYTES_MAX = 262_144
const PICTURES = /\.(png|svg|jpg)$/
const HIDDEN = new Set(['node_modules', 'dist', 'gen', 'target', '__pycache__', '.git'])

/**
 * Writes all pages into a folder.
 *
 * @returns the sections of the documentation, as docs/README.md has them
 */
export function writePages(folder: string): Section[] {
  const pages = pagesOf()
  const shown = new Set<string>()

  const write = (path: string, text: string) => {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }

  /** The place in the site of what a page links; `undefined`: it is shown nowhere. */
  const placeOf = (path: string): string | undefined => {
    const place = pages.get(path) ?? pages.get(posix.join(path, 'README.md'))
    if (place !== undefined) return `/${place}`
    if (!existsSync(join(ROOT, path))) return undefined
    if (PICTURES.test(path)) return pictureOf(path)
    return showFile(path) ? `/files/${path}.md` : undefined
  }

  const pictureOf = (path: string): string => {
    const file = join(folder, 'public', path)
    mkdirSync(dirname(file), { recursive: true })
    cpSync(join(ROOT, path), file)
    return `/${path}`
  }

  /** Makes a page that shows a file or a folder. @returns whether there is one */
  const showFile = (path: string): boolean => {
    if (shown.has(path)) return true
    const stats = statSync(join(ROOT, path))
    if (!stats.isDirectory() && stats.size > SHOWN_BYTES_MAX) return false
    shown.add(path)
    write(`files/${path}.md`, stats.isDirectory() ? folderPage(path) : filePage(path))
    return true
  }

  const folderPage = (path: string): string => {
    const files = filesIn(path)
    const lines = files.map((file) => {
      const name = `\`${relative(path, file)}\``
      const place = files.length <= FILES_MAX ? placeOf(file) : undefined
      return place === undefined ? `- ${name}` : `- [${name}](${place})`
    })
    return `${UNSEARCHED}# \`${path}/\`\n\n${lines.join('\n')}\n`
  }

  for (const [path, place] of pages) {
    const text = readFileSync(join(ROOT, path), 'utf8')
    write(place, linked(text, dirname(path), placeOf))
  }
  return sectionsIn(readFileSync(join(ROOT, 'docs/README.md'), 'utf8'), pages)
}

/** They would be found in place of the page that explains them. */
const UNSEARCHED = '---\nsearch: false\n---\n'

function filePage(path: string): string {
  const text = readFileSync(join(ROOT, path), 'utf8')
  // Longer than any fence in it.
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length + 1)))
  return `${UNSEARCHED}# \`${path}\`\n\n${fence}${languageOf(path)}\n${text.trimEnd()}\n${fence}\n`
}

const LANGUAGES: Readonly<Record<string, string>> = {
  '.ts': 'ts',
  '.tsx': 'tsx',
  '.js': 'js',
  '.mjs': 'js',
  '.json': 'json',
  '.jsonl': 'json',
  '.yaml': 'yaml',
  '.yml': 'yaml',
  '.proto': 'proto',
  '.sh': 'sh',
  '.py': 'python',
  '.go': 'go',
  '.rs': 'rust',
  '.toml': 'toml',
  '.xml': 'xml',
  '.java': 'java',
}

function languageOf(path: string): string {
  return LANGUAGES[extname(path)] ?? 'text'
}

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !HIDDEN.has(name) && !name.startsWith('.'))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((each) => {
      const path = posix.join(folder, each.name)
      return each.isDirectory() ? filesIn(path) : [path]
    })
}

/** A page whose links lead within the site. A link to a target without a page becomes a text. */
function linked(text: string, folder: string, placeOf: (path: string) => string | undefined): string {
  const target = (link: string): string | undefined => {
    const [path = '', anchor] = link.split('#', 2)
    if (/^[a-z]+:/.test(link) || path === '') return link
    const place = placeOf(posix.join(folder, path).replace(/\/$/, ''))
    return place === undefined ? undefined : anchor === undefined ? place : `${place}#${anchor}`
  }
  const place = (whole: string, words: string, link: string) => {
    const found = target(link)
    return found === undefined ? words : whole.replace(`](${link})`, `](${found})`)
  }
  // Pictures first, because a link may have one in place of words.
  return outsideOfBlocks(text, (line) =>
    line
      .replaceAll(PICTURE, place)
      .replaceAll(LINK, place)
      .replaceAll(SOURCE, (source) => target(source) ?? source),
  )
}

const PICTURE = /!\[([^\]]*)\]\(([^()\s]+)\)/g
const SOURCE = /(?<=<img src=")[^"]+/g
const LINK = /(?<!!)\[((?:!\[[^\]]*\]\([^()]*\)|`[^`]*`|[^\]`])*)\]\(([^()\s]+)\)/g

/** Changes each line that is not in a block of code. */
function outsideOfBlocks(text: string, change: (line: string) => string): string {
  let fence = ''
  return text
    .split('\n')
    .map((line) => {
      const [, ticks = ''] = /^\s*(`{3,})/.exec(line) ?? []
      if (fence !== '') {
        if (ticks.length >= fence.length) fence = ''
        return line
      }
      fence = ticks
      return ticks === '' ? change(line) : line
    })
    .join('\n')
}

/** The sections of docs/README.md. Each link of a line is an entry. */
function sectionsIn(text: string, pages: ReadonlyMap<string, string>): Section[] {
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = ''] = section.split('\n', 1)
      const links = [...section.matchAll(/\[([^\]]+)\]\(([^)#]+)\)/g)]
      const items = links.flatMap(([, words = '', link = '']) => {
        const place = pages.get(posix.join('docs', link))
        return place === undefined ? [] : [{ text: capital(words), link: linkTo(place) }]
      })
      return { text: title, items }
    })
}

/** Names that keep their small letter. */
const SMALL = new Set(['systemd'])

function capital(text: string): string {
  return SMALL.has(text) ? text : `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}
