/**
 * Runs seeds in this process, which has no other time from then on. It reads one seed a line from standard
 * input, and writes one line of JSON for each to standard output. `simulate.ts` starts it.
 */
import './edges/hooks.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Outcome, Run } from './outcome.ts'
import { time } from './world/time.ts'

const folder = mkdtempSync(join(process.env.SIMULATION_FOLDER ?? tmpdir(), 'simulation-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
process.on('SIGTERM', () => process.exit(0))
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
time.install()
// Its imports must find the simulated time.
const { Broken, Simulation } = await import('./simulation.ts')
const populated = await (await import('./populated.ts')).populate(folder)

for (let line = await lines.next(); !line.done; line = await lines.next()) {
  const run: Run = JSON.parse(line.value)
  process.stdout.write(`${JSON.stringify(await outcomeOf(run))}\n`)
}
process.exit(0)

async function outcomeOf({ seed, steps, skipped = [], narrates = false }: Run): Promise<Outcome> {
  const narrate = narrates ? (text: string) => void process.stderr.write(`${text}\n`) : undefined
  const simulation = new Simulation(seed, folder, populated, narrate)
  try {
    return { seed, found: await simulation.run(steps, new Set(skipped)) }
  } catch (error) {
    if (!(error instanceof Broken)) return { seed, broken: { what: String((error as Error).stack), steps } }
    return { seed, broken: { what: error.message, steps: error.steps } }
  }
}
