/**
 * `npm run bench`: runs the suites, prints their results, and writes them to `bench/results/` as JSON and as
 * a chart.
 *
 * - `npm run bench`: every suite
 * - `npm run bench -- engine`: one suite
 * - `npm run bench -- --gate`: exit code 1 if a row is over its bound (gates.ts) twice in a row
 * - `npm run bench -- --docs`: also writes their results to docs/bench.json and docs/bench.svg, where those
 *   of the other suites stay
 * - `npm run bench -- --smoke`: everything at a tiny size, to see that it runs; judges and writes nothing
 */
import { parseArgs } from 'node:util'
import type { Suite } from './harness/suite.ts'
import { judge } from './judge.ts'
import { resultsOf, writeDocs, writeResults } from './report/results.ts'
import { reportText } from './report/table.ts'
import { suites } from './suites/index.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    gate: { type: 'boolean', default: false },
    docs: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
})

const names = suites.map((suite) => suite.name)
const unknown = positionals.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`bench: unknown suite ${unknown.join(', ')}; expected ${names.join(', ')}\n`)
  process.exit(2)
}

const chosen = positionals.length === 0 ? suites : suites.filter(({ name }) => positionals.includes(name))
if (values.smoke) {
  for (const { name, run } of chosen) print(reportText(name, await run('smoke'), 'smoke'))
} else {
  await measure(chosen)
  if (values.docs) print(`written to ${writeDocs(names, chosen).join(' and ')}; then run \`npm run docs\``)
}

/** Runs the suites at full size, judges their rows, and writes the results. */
async function measure(chosen: readonly Suite[]): Promise<void> {
  const exceeded: string[] = []
  const skipped = new Set<string>()
  for (const suite of chosen) {
    let runs = 0
    const over = await judge(suite, values.gate, (report, rows) => {
      print(reportText(suite.name, report, 'full'))
      print(`written to ${writeResults(resultsOf(suite.name, report)).join(' and ')}\n`)
      for (const { row } of report.skipped ?? []) skipped.add(`${suite.name}/${row}`)
      if (values.gate && rows.length > 0 && runs++ === 0)
        print(`over the bound: ${rows.join(', ')}; the suite runs again, and rows that are over again fail\n`)
    })
    exceeded.push(...over.map((row) => `${suite.name}/${row}`))
  }
  if (skipped.size > 0) print(`skipped, and therefore not judged: ${[...skipped].join(', ')}`)
  if (exceeded.length === 0) return
  print(`over the bound${values.gate ? ', both times' : ''}: ${exceeded.join(', ')}`)
  if (values.gate) process.exitCode = 1
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
