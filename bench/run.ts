/**
 * `npm run bench`: runs the suites, prints what they found, and writes it to `bench/results/`.
 *
 *     npm run bench                   every suite
 *     npm run bench -- engine         one suite
 *     npm run bench -- --gate         exit code 1 where a bound of gates.ts is exceeded
 *     npm run bench -- --smoke        everything at a tiny size: does it still run? judges and writes nothing
 */
import { parseArgs } from 'node:util'
import { gateOf, unmeasured, verdictOf } from './gates.ts'
import { reportText, writeResults } from './report.ts'
import type { SuiteReport } from './suite.ts'
import { suites } from './suites.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { gate: { type: 'boolean', default: false }, smoke: { type: 'boolean', default: false } },
})

const unknown = positionals.filter((name) => !suites.some((suite) => suite.name === name))
if (unknown.length > 0) {
  const names = suites.map((suite) => suite.name).join(', ')
  process.stderr.write(`bench: no suite is called ${unknown.join(', ')}; expected ${names}\n`)
  process.exit(2)
}

const exceeded: string[] = []
const skipped: string[] = []
for (const suite of suites) {
  if (positionals.length > 0 && !positionals.includes(suite.name)) continue
  const size = values.smoke ? 'smoke' : 'full'
  const report = await suite.run(size)
  process.stdout.write(`${reportText(suite.name, report, size)}\n`)
  if (size === 'smoke') continue
  process.stdout.write(`written to ${writeResults(suite.name, report)}\n\n`)
  exceeded.push(...exceededBy(suite.name, report))
  skipped.push(...(report.skipped ?? []).map(({ row }) => `${suite.name}/${row}`))
}
if (skipped.length > 0) process.stdout.write(`skipped, and so not judged: ${skipped.join(', ')}\n`)
if (exceeded.length > 0) {
  process.stdout.write(`over the bound: ${exceeded.join(', ')}\n`)
  if (values.gate) process.exitCode = 1
}

function exceededBy(suite: string, report: SuiteReport): string[] {
  const over = report.rows.filter((row) => verdictOf(gateOf(suite, row), row) === 'over').map((row) => row.id)
  return [...over, ...unmeasured(suite, report)].map((row) => `${suite}/${row}`)
}
