/**
 * Makes the files of `clients/conformance` that the engine and the sidecar say (`npm run conformance`). With
 * a folder and a seed as its arguments it writes there, and 1,000 traces, flows and tables of routes for that
 * seed in place of those of the repository, with rules of 100,000 APIs.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decisions } from './decisions.ts'
import { denials } from './denials.ts'
import { OURS, VERSION } from './files.ts'
import { meant, outages, pauses } from './outages.ts'
import { randomTraces } from './random-traces.ts'
import { redirects } from './redirects.ts'
import { routeLines } from './routes.ts'
import { largeRules, rulesFiles } from './rules.ts'
import { sending } from './sending.ts'
import { largeTrace, traces } from './traces.ts'

/** Rules of megabytes, which the repository does not keep. */
const LARGE = 'hundred-thousand'
const APIS = 100_000

const [folder = OURS, seed] = process.argv.slice(2)
const large = seed === undefined ? [] : largeRules(APIS)
mkdirSync(join(folder, 'rules'), { recursive: true })
for (const [name, rules] of Object.entries(rulesFiles())) writeRules(name, rules)
write('decisions', decisions())
write('denials', denials())
write('routes', seed === undefined ? routeLines(20, 1) : routeLines(1_000, Number(seed)))
write(
  'traces',
  seed === undefined
    ? [...traces(), ...randomTraces(1, 30)]
    : [
        ...largeTrace(
          large.map((_, part) => `${LARGE}-${part}`),
          APIS,
        ),
        ...randomTraces(Number(seed), 1_000),
      ],
)
write('redirects', redirects())
write('sending', seed === undefined ? sending(1, 20) : sending(Number(seed), 1_000))
write('outages', seed === undefined ? outages(1, 20) : outages(Number(seed), 1_000))
write('pauses', pauses())
write('meant', seed === undefined ? meant(1, 60) : meant(Number(seed), 10_000))
for (const [part, rules] of large.entries()) writeRules(`${LARGE}-${part}`, rules)
if (folder !== OURS) copyFileSync(join(OURS, 'credentials.jsonl'), join(folder, 'credentials.jsonl'))

function writeRules(name: string, rules: Buffer): void {
  writeFileSync(join(folder, 'rules', `${name}.binpb`), rules)
}

function write(name: string, lines: Iterable<object>): void {
  const values = [{ version: VERSION }, ...lines]
  writeFileSync(join(folder, `${name}.jsonl`), `${values.map((value) => JSON.stringify(value)).join('\n')}\n`)
}
