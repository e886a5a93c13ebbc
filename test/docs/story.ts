/**
 * A page read from top to bottom as its reader does: files are saved, commands run, outputs compared. One
 * test for each block.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { passing } from '../support/suite/resources.ts'
import { comparable, shownAs } from './outputs.ts'
import { type Block, blocksOf, fileOf, needOf, type Page } from './page.ts'
import { Terminal } from './terminal.ts'

/** The account of the demo that the pages show. */
const ACCOUNT_SHOWN = '787613'

export interface Reading {
  /** The needs of blocks besides Node, for example `curl`. A block with another need is passed over. */
  readonly needs?: ReadonlySet<string>
  /** Folders that are looked into for programs before all others. */
  readonly path?: readonly string[]
  /** The preparation of the first block. */
  readonly prepare?: (terminal: Terminal) => void | Promise<void>
}

/** Declares the tests of a page. @returns how to get at its terminal, from inside a test that comes after */
export function readPage(
  page: Page,
  { needs = new Set(), path = [], prepare }: Reading = {},
): () => Terminal {
  let terminal: Terminal
  /** The output of the last block that was run. */
  let output = ''
  beforeAll(async () => {
    terminal = Terminal.open(path)
    await prepare?.(terminal)
  })
  afterAll(() => terminal?.close())

  // The output belongs to the block before it.
  let passedOver = false
  for (const block of blocksOf(page)) {
    const need = needOf(block)
    if (!isOutput(block)) passedOver = isNotRun(block) || (need !== undefined && !needs.has(need))
    if (passedOver) continue
    const at = `${page.path}:${block.line}`
    const file = fileOf(block)
    if (file !== undefined) test(`${at} is saved as ${file}`, () => terminal.save(file, block.text))
    else if (isOutput(block))
      test(`${at} is what is printed`, () => {
        expect(`${comparable(output)}\n`).toMatch(shownAs(terminal.meant(block.text)))
      })
    else if (block.words.includes('in-background'))
      test(`${at} serves`, async () => {
        if (!block.words.includes('beside')) await terminal.stop()
        output = await terminal.start(block.text)
        learnDemo(terminal, output)
      })
    else if (block.language === 'sh')
      test(`${at} runs`, async () => {
        let ran = await terminal.run(block.text)
        if (block.words.includes('retry') && ran.status !== 0) {
          const [, seconds] = /try again in (\d+) s/.exec(ran.output) ?? []
          await passing(Number(seconds) * 1000)
          ran = await terminal.run(block.text)
        }
        output = ran.output
        const status = Number(
          block.words.find((word) => word.startsWith('exit='))?.slice('exit='.length) ?? 0,
        )
        const expected = { status, failed: status === 0 ? '' : ran.failed }
        expect({ status: ran.status, failed: ran.failed }, ran.output).toEqual(expected)
      })
  }
  return () => terminal
}

export const isOutput = ({ words }: Block): boolean => words.includes('output')
export const isNotRun = ({ words }: Block): boolean => words.includes('not-run')

/** Values that only the welcome of a development sidecar shows. */
function learnDemo(terminal: Terminal, welcome: string): void {
  const account = /^Demo account (\d+)/m.exec(welcome)?.[1]
  if (account === undefined) return
  const [, password = ''] = / password +(\S+)$/m.exec(welcome) ?? []
  const [, staticToken = ''] = / static token +(\S+)$/m.exec(welcome) ?? []
  terminal.replace(ACCOUNT_SHOWN, account)
  terminal.replace('ACCOUNT=…', `ACCOUNT=${account}`)
  terminal.replace('PORTCULLIS_PASSWORD=…', `PORTCULLIS_PASSWORD=${password}`)
  terminal.replace('STATIC_TOKEN=…', `STATIC_TOKEN=${staticToken}`)
  const [, data = ''] = /^ {2}data +(\S+)$/m.exec(welcome) ?? []
  terminal.replace('DATA=…', `DATA=${data}`)
}
