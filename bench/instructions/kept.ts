/** The kept counts, in docs/instructions.json, and differences from them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../harness/paths.ts'
import type { Counted } from './operations.ts'

/** The facts besides the code that decide about a count: counts of different places are not compared. */
export interface Place {
  /** Version of Node. */
  readonly node: string
  /** The architecture, and what valgrind says of the processor: V8 and libraries use what it has. */
  readonly processor: string
  /** Version of valgrind. */
  readonly valgrind: string
}

export interface Kept extends Place {
  readonly operations: readonly Pick<Counted, 'id' | 'what' | 'instructions'>[]
}

/** The allowed difference between a count and the kept one: runs of the same code differ by less. */
const TOLERANCE = 0.01

/** Rounds of one run that differ by more than this say nothing, so that nothing fails for them. */
const SPREAD_MAX = 0.005

export const METHOD =
  'Instructions of the process, by callgrind, one operation at a time and warm: those of 2N operations less those of N, divided by N; the median of five rounds. Clocks stand still, there are no sockets, and no garbage is collected meanwhile.'

/** The verdict on an operation. */
type Verdict = 'same' | 'more' | 'less' | 'not kept' | 'not counted' | 'not settled'

export interface Compared {
  readonly id: string
  readonly what: string
  readonly before: number | undefined
  readonly now: number | undefined
  readonly verdict: Verdict
}

const FILE = join(ROOT, 'docs', 'instructions.json')

export function readKept(): Kept | undefined {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Kept) : undefined
}

/** One line for each operation, so that a change shows which of them it concerns. @returns the path */
export function keep(place: Place, counted: readonly Counted[]): string {
  const operations = counted.map(({ id, what, instructions }) => ({
    ...{ id, what, instructions: Number(instructions.toFixed(1)) },
  }))
  writeFileSync(FILE, `${JSON.stringify({ ...place, operations }, undefined, 2)}\n`)
  return FILE
}

/** Where the counts were kept, if that is not here. */
export function elsewhere(kept: Place, here: Place): string | undefined {
  const [there, now] = [placeText(kept), placeText(here)]
  return there === now ? undefined : `the kept counts are of ${there}, and these are of ${now}`
}

export function placeText({ node, processor, valgrind }: Place): string {
  return `Node ${node} on ${processor} under valgrind ${valgrind}`
}

/** Every operation that is kept or was counted. */
export function compare(kept: Kept, counted: readonly Counted[]): Compared[] {
  const before = new Map(kept.operations.map((operation) => [operation.id, operation.instructions]))
  const now = new Set(counted.map(({ id }) => id))
  return [
    ...counted.map(({ id, what, instructions, spread }) => ({
      ...{ id, what, before: before.get(id), now: instructions },
      verdict: verdictOn(before.get(id), instructions, spread),
    })),
    ...kept.operations
      .filter(({ id }) => !now.has(id))
      .map(({ id, what, instructions }) => ({
        ...{ id, what, before: instructions, now: undefined },
        verdict: 'not counted' as const,
      })),
  ]
}

function verdictOn(before: number | undefined, now: number, spread: number): Verdict {
  if (!Number.isFinite(now)) return 'not counted'
  if (spread > SPREAD_MAX) return 'not settled'
  if (before === undefined) return 'not kept'
  if (now > before * (1 + TOLERANCE)) return 'more'
  return now < before * (1 - TOLERANCE) ? 'less' : 'same'
}

/** The text for the author of a change, and whether the gate fails. */
export function judged(compared: readonly Compared[]): { readonly text: string; readonly fails: boolean } {
  const lines = compared.flatMap((each) => sentenceOn(each) ?? [])
  if (lines.length === 0)
    return { text: `every operation takes what it took, within ${PERCENT}`, fails: false }
  return {
    text: [...lines, `if that is meant, keep the new counts: ${KEEP}`].join('\n'),
    fails: compared.some(({ verdict }) => FAILS.has(verdict)),
  }
}

const FAILS: ReadonlySet<Verdict> = new Set<Verdict>(['more', 'not kept', 'not counted'])
const PERCENT = `${100 * TOLERANCE} %`
const KEEP = '`npm run instructions -- --keep && npm run docs`'

/** @returns undefined: nothing is to be said */
function sentenceOn({ id, what, before = 0, now = 0, verdict }: Compared): string | undefined {
  const name = `${id} (${what})`
  const change = `${((100 * Math.abs(now - before)) / before).toFixed(2)} %`
  const figures = `${before.toFixed(1)} instructions before, ${now.toFixed(1)} now`
  switch (verdict) {
    case 'same':
      return undefined
    case 'more':
      return `${name} takes ${change} more: ${figures}; at most ${PERCENT} passes`
    case 'less':
      return `${name} takes ${change} less: ${figures}; until that is kept, it may be lost again`
    case 'not kept':
      return `${name} takes ${now.toFixed(1)} instructions, and no count of it is kept`
    case 'not counted':
      return `${name} was not counted, and a count of it is kept`
    case 'not settled':
      return `${name} is not judged: its rounds differ by more than ${100 * SPREAD_MAX} %`
  }
}

/** The kept counts as a table of the docs, and how they were made. @returns an empty text without them */
export function instructionsBlock(kept = readKept()): string {
  if (kept === undefined) return ''
  const rows = kept.operations.map(
    ({ what, instructions }) => `| ${what} | ${Math.round(instructions).toLocaleString('en')} |`,
  )
  return [
    ...['| what | instructions |', '|---|---|', ...rows, ''],
    `\`npm run instructions -- --keep\`, ${placeText(kept)}. ${METHOD}`,
  ].join('\n')
}
