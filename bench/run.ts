/**
 * `npm run bench`: runs the suites, prints what they found, and writes it to `bench/results/` as JSON and as a chart.
 *
 *     npm run bench                   every suite
 *     npm run bench -- engine         one suite
 *     npm run bench -- --gate         exit code 1 where a row is over its bound (gates.ts) twice running
 *     npm run bench -- --docs         then brings docs/bench.json and docs/bench.svg up to date with bench/results/
 *     npm run bench -- --smoke        everything at a tiny size: does it still run? judges and writes nothing
 */
import { parseArgs } from 'node:util'
import { judge } from './judge.ts'
import { reportText } from './report.ts'
import { readResults, resultsOf, writeDocs, writeResults } from './results.ts'
import { suites } from './suites.ts'

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
  process.stderr.write(`bench: no suite is called ${unknown.join(', ')}; expected ${names.join(', ')}\n`)
  process.exit(2)
}

const exceeded: string[] = []
const skipped = new Set<string>()
for (const suite of suites) {
  if (positionals.length > 0 && !positionals.includes(suite.name)) continue
  if (values.smoke) {
    print(reportText(suite.name, await suite.run('smoke'), 'smoke'))
    continue
  }
  let runs = 0
  const over = await judge(suite, values.gate, (report, rows) => {
    print(reportText(suite.name, report, 'full'))
    print(`written to ${writeResults(resultsOf(suite.name, report)).join(' and ')}\n`)
    for (const { row } of report.skipped ?? []) skipped.add(`${suite.name}/${row}`)
    if (values.gate && rows.length > 0 && runs++ === 0)
      print(`over the bound: ${rows.join(', ')}; measured once more, and only what is over again fails\n`)
  })
  exceeded.push(...over.map((row) => `${suite.name}/${row}`))
}
if (skipped.size > 0) print(`skipped, and so not judged: ${[...skipped].join(', ')}`)
if (exceeded.length > 0) {
  print(`over the bound${values.gate ? ', both times' : ''}: ${exceeded.join(', ')}`)
  if (values.gate) process.exitCode = 1
}
if (values.docs && !values.smoke)
  print(
    `written to ${writeDocs(readResults(names)).join(' and ')}; \`node test/docs/readme.ts\` follows in README.md`,
  )

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
