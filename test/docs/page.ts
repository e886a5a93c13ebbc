/** The pages that readers see, and the fenced blocks in them. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/checkout/sources.ts'

/** A page by its path from the root, for example `docs/use/matrix.md`. */
export interface Page {
  readonly path: string
  readonly text: string
}

/** Every page of the project that is written for people. */
export const pages: readonly Page[] = globSync(
  [
    ...['*.md', 'docs/**/*.md', 'examples/*/README.md', 'test/README.md'],
    '{engine,matrix,sidecar,clients/typescript}/README.md',
  ],
  { cwd: ROOT },
)
  .map((path) => path.replaceAll('\\', '/'))
  .sort()
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))

/** The pages that a user of the product reads; the others are for its developers. */
export const userPages = pages.filter(
  ({ path }) => path === 'README.md' || (path.startsWith('docs/') && !path.startsWith('docs/decisions/')),
)

/** @throws Error where there is no such page */
export function pageOf(path: string): Page {
  const page = pages.find((each) => each.path === path)
  if (page === undefined) throw new Error(`expected a page ${path}`)
  return page
}

/**
 * A fenced block. Behind its language stand words that GitHub does not show:
 *
 * - `ts server.ts`, `yaml directory.yaml`: the reader saves the block under that name.
 * - `sh`: the reader runs it. `sh exit=1`: it ends with 1. `sh in-background`: it serves until the page ends
 *   or the next one is started; `beside` leaves the earlier ones running. `sh retry`: the reader tries again
 *   as soon as the message says. `sh needs=python`: it needs more than Node. `sh not-run`: a test says why it
 *   is not run.
 * - `text output`: what the block before it prints.
 */
export interface Block {
  readonly language: string
  readonly words: readonly string[]
  readonly text: string
  /** Line of the fence in the page, from 1. */
  readonly line: number
}

/** The fenced blocks of a page, in order. */
export function blocksOf({ text }: Page): Block[] {
  return Array.from(
    text.matchAll(/^```([^\n`]+)\n([\s\S]*?)^```$/gm),
    ({ 1: info = '', 2: block = '', index }) => {
      const [language = '', ...words] = info.trim().split(/\s+/)
      return { language, words, text: block, line: text.slice(0, index).split('\n').length }
    },
  )
}

/** The needs of a block besides Node: the value of its `needs=`. */
export function needOf({ words }: Block): string | undefined {
  return words.find((word) => word.startsWith('needs='))?.slice('needs='.length)
}

/** The file name that a block of code is saved under. */
export function fileOf({ language, words }: Block): string | undefined {
  return CODE.has(language) ? words.find((word) => /^[\w./-]+\.\w+$/.test(word)) : undefined
}

/** Languages whose blocks are files. */
const CODE = new Set(['ts', 'json', 'yaml', 'python', 'go', 'java', 'rust', 'toml', 'ini'])
