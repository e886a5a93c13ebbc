/**
 * Makes the files of `clients/conformance` that the engine and the sidecar say (`npm run conformance`). With
 * a folder and a seed as its arguments it writes there, and 1,000 traces for that seed in place of those of
 * the repository.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decisions } from './decisions.ts'
import { denials } from './denials.ts'
import { randomTraces } from './random-traces.ts'
import { ENGINES, rulesOf } from './rules.ts'
import { traces } from './traces.ts'

const OURS = join(import.meta.dirname, '../../../clients/conformance')

/** Of the format of the files. */
const VERSION = 1

const [folder = OURS, seed] = process.argv.slice(2)
mkdirSync(join(folder, 'rules'), { recursive: true })
for (const [name, engine] of Object.entries(ENGINES))
  writeFileSync(join(folder, 'rules', `${name}.binpb`), rulesOf(engine))
write('decisions', decisions())
write('denials', denials())
write(
  'traces',
  seed === undefined ? [...traces(), ...randomTraces(1, 30)] : randomTraces(Number(seed), 1_000),
)
if (folder !== OURS) copyFileSync(join(OURS, 'credentials.jsonl'), join(folder, 'credentials.jsonl'))

function write(name: string, lines: Iterable<object>): void {
  const values = [{ version: VERSION }, ...lines]
  writeFileSync(join(folder, `${name}.jsonl`), `${values.map((value) => JSON.stringify(value)).join('\n')}\n`)
}
