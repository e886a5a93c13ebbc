/**
 * `npm run instructions`: how many instructions each operation of the hot path takes, by callgrind. Neither a
 * busy machine nor a faster processor changes that, so a per cent more is found where times scatter by ten.
 *
 * - `npm run instructions`: exit code 1 if an operation takes more than the kept count allows
 * - `npm run instructions -- --keep`: keeps these counts, in docs/instructions.json
 *
 * Where valgrind is not installed it says so, and counts nothing. Counts of another version of Node, of
 * valgrind or of another processor are shown beside the kept ones, and not judged.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { countInstructions, valgrindVersion } from './instructions/callgrind.ts'
import {
  compare,
  elsewhere,
  judged,
  keep,
  METHOD,
  type Place,
  placeText,
  readKept,
} from './instructions/kept.ts'
import { GROUPS } from './instructions/operations.ts'
import { columns } from './report/text.ts'

const { values } = parseArgs({ options: { keep: { type: 'boolean', default: false } } })

await main()

async function main(): Promise<void> {
  const valgrind = await valgrindVersion()
  if (valgrind === undefined) {
    print('skipped: expected valgrind to be installed, for example by `apt-get install valgrind`')
    return
  }
  const here: Place = { node: process.versions.node, processor: processor(), valgrind }
  const counted = (await Promise.all(GROUPS.map((group) => countInstructions(group, 'full')))).flat()
  const kept = readKept() ?? { ...here, operations: [] }
  const compared = compare(kept, counted)
  const rows = compared.map(({ id, what, before, now, verdict }) => [
    id,
    what,
    text(now),
    text(before),
    verdict,
  ])
  print(`${columns([['operation', 'what', 'instructions', 'kept', ''], ...rows])}\n`)
  print(`${METHOD} ${placeText(here)}.\n`)
  if (values.keep) {
    print(`written to ${keep(here, counted)}; then run \`npm run docs\``)
    return
  }
  const other = elsewhere(kept, here)
  if (other !== undefined) {
    print(`not judged: ${other}`)
    return
  }
  const { text: said, fails } = judged(compared)
  print(said)
  if (fails) process.exitCode = 1
}

/** Valgrind shows programs one of a few processors, the newest that the real one can do. */
function processor(): string {
  const flags = process.platform === 'linux' ? readFileSync('/proc/cpuinfo', 'utf8') : ''
  return `${process.arch}${/^flags\s*:.* avx2 /m.test(flags) ? ' with AVX2' : ''}`
}

function text(instructions: number | undefined): string {
  return instructions?.toFixed(1) ?? ''
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
