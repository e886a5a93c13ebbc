/**
 * Searches for a history of a fleet that breaks a promise (docs/decide/assurance.md), or shows that it would
 * find one: `npm run simulate -- --help`.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { keepFigures } from '../../scripts/assurance.ts'
import { DEFECTS, defectsOf } from '../world/defects.ts'
import { DEFECT_SEEDS, STEPS } from './outcome.ts'
import { firstBroken, Runner, shrunk } from './runner.ts'

const HELP = `usage: npm run simulate -- [options]

  --seeds N       how many seeds are run; default: 200, with --for any number, and ${DEFECT_SEEDS} for each defect
  --for TIME      begins no seed after so long, for example 30m or 8h
  --from N        the first seed; default: 1
  --seed N        runs this seed alone, and tells all that happens in it
  --steps N       steps of each seed; default: ${STEPS}
  --jobs N        processes; default: one for each processor
  --defects       puts each known defect into the code, and tells the seed that finds it
  --list          tells which search finds which known defect
  --defect NAME   runs the seeds with that defect
`

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

const { values } = parseArgs({
  options: {
    ...{ seeds: { type: 'string' }, for: { type: 'string' }, from: { type: 'string' } },
    ...{ seed: { type: 'string' }, steps: { type: 'string' }, jobs: { type: 'string' } },
    ...{
      defects: { type: 'boolean' },
      list: { type: 'boolean' },
      defect: { type: 'string' },
      help: { type: 'boolean' },
    },
  },
} as const)

const steps = number('steps', STEPS)
const jobs = number('jobs', availableParallelism())
const from = number('from', 1)
const seeds = number('seeds', values.defects ? DEFECT_SEEDS : values.for === undefined ? 200 : 999_999_999)
const untilMs = Date.now() + (values.for === undefined ? Number.POSITIVE_INFINITY : milliseconds(values.for))

if (values.help) process.stdout.write(HELP)
else if (values.list) list()
else if (values.defects) await showDefects()
else if (values.seed !== undefined) await tell(number('seed', 1))
else await search()

async function search(): Promise<void> {
  const beganMs = Date.now()
  const ran = await firstBroken({ from, seeds, steps, jobs, untilMs, defect: values.defect })
  const { broken, count, found } = ran
  const seconds = Math.round((Date.now() - beganMs) / 1_000)
  console.log(
    `${count} seeds of ${steps} steps in ${seconds} s: ${Object.entries(found)
      .map(([name, sum]) => `${sum} ${name}`)
      .join(', ')}`,
  )
  if (broken === undefined) {
    keepFigures('simulation', { seeds: count, steps, ...found })
    console.log('no promise was broken')
    return
  }
  process.exitCode = 1
  console.log(`seed ${broken.seed}: ${broken.broken?.what}\nshrinking it …`)
  const runner = new Runner(values.defect)
  const run = await shrunk(runner, { seed: broken.seed, steps: broken.broken?.steps ?? steps })
  runner.close()
  const done = run.steps - (run.skipped ?? []).filter((step) => step < run.steps).length
  console.log(
    `it needs ${done} of ${steps} steps. See it by \`npm run simulate -- --seed ${broken.seed}\`; keep it as a line of test/simulation/kept.ts:\n${JSON.stringify(run)}`,
  )
}

/** One seed, with all that happens. */
async function tell(seed: number): Promise<void> {
  const runner = new Runner(values.defect)
  const { broken, found } = await runner.run({ seed, steps, narrates: true })
  runner.close()
  if (broken !== undefined) process.exitCode = 1
  console.log(broken?.what ?? `no promise was broken: ${JSON.stringify(found)}`)
}

/** The model of staleness has separate faults, which spin finds. */
function list(): void {
  for (const { name, foundBy = 'simulated' } of DEFECTS) console.log(`${foundBy}: ${name}`)
  const model = readFileSync(join(import.meta.dirname, '../model/follower.pml'), 'utf8')
  for (const [, what] of model.matchAll(/^#define [A-Z_]+ +\d+ +\/\* (.+) \*\/$/gm))
    console.log(`model: ${what}`)
}

/** Those that are not found are named at the end. */
async function showDefects(): Promise<void> {
  const missed: string[] = []
  const known = defectsOf('simulated')
  for (const { name } of known) {
    const { broken } = await firstBroken({ from, seeds, steps, jobs, untilMs, defect: name })
    console.log(
      broken === undefined ? `not found: ${name}` : `seed ${broken.seed}: ${name}: ${broken.broken?.what}`,
    )
    if (broken === undefined) missed.push(name)
  }
  console.log(`${known.length - missed.length} of ${known.length} defects were found within ${seeds} seeds`)
  const found = known.length - missed.length
  keepFigures('defects', { found, of: known.length, seeds })
  if (missed.length > 0) process.exitCode = 1
}

function number(name: 'seeds' | 'from' | 'seed' | 'steps' | 'jobs', otherwise: number): number {
  const text = values[name]
  if (text === undefined) return otherwise
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`--${name}: expected a number from 1, found ${text}`)
  return Number(text)
}

function milliseconds(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smh])$/.exec(text) ?? []
  if (count === undefined) throw new Error(`--for: expected a time such as 30m or 8h, found ${text}`)
  return Number(count) * (UNITS[unit] as number)
}
