/**
 * Fuzzes readers for as long as one likes: npm run fuzz -- [--target NAME] [--for 10m | --runs N] [--seed N]
 * [--jobs N] [--patience 30s] [--keep]. `--input BASE64` only reads that input. A thread that reads
 * one input for longer than its patience is ended, and the input is a finding.
 */
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { keepFigures } from '../../scripts/assurance.ts'
import { readCorpus, writeCorpus } from './corpus.ts'
import type { Finding, Report } from './fuzzer.ts'
import { loadTarget, TARGETS } from './targets.ts'
import type { Work } from './worker.ts'

const INPUT_BYTES_MAX = 1 << 20

const { values: options } = parseArgs({
  options: {
    target: { type: 'string', multiple: true },
    for: { type: 'string' },
    runs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
    input: { type: 'string' },
    patience: { type: 'string', default: '30s' },
  },
})

const names = options.target ?? TARGETS
const jobs = Number(options.jobs)
const seed = Number(options.seed)
const runs = options.runs === undefined ? undefined : Number(options.runs.replaceAll('_', ''))
const patienceMs = millisecondsOf(options.patience) as number
const totalMs = millisecondsOf(options.for ?? (runs === undefined ? '1m' : undefined))
if (!(jobs >= 1) || !Number.isSafeInteger(seed) || !(runs === undefined || runs >= 1))
  throw new Error('expected whole numbers behind --jobs, --seed and --runs')
// An unknown name ends the run before it begins.
for (const name of names) await loadTarget(name)

const findings: Finding[] = []
let executions = 0
if (options.input !== undefined) {
  for (const target of names)
    await pass({ target, corpus: [Buffer.from(options.input, 'base64')], runs: 0, seed })
} else {
  const ms = totalMs === undefined ? undefined : (totalMs * jobs) / names.length
  const budget = { ...(runs !== undefined && { runs }), ...(ms !== undefined && { ms }) }
  console.log(row(['target', 'executions', 'a second', 'coverage', 'inputs', 'steps a byte', 'findings']))
  const waiting = [...names]
  const one = async (job: number) => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift())
      await pass({ target, corpus: readCorpus(target), seed: seed + job, ...budget })
  }
  await Promise.all(Array.from({ length: jobs }, (_, job) => one(job)))
  console.log(`\n${executions.toLocaleString('en')} executions, ${findings.length} findings`)
  keepFigures('fuzzing', { targets: names.length, executions, findings: findings.length })
}
for (const { target, message, input } of findings)
  console.log(
    `\n${target}: ${message}\n  npm run fuzz -- --target ${target} --input ${input.toString('base64') || "''"}`,
  )
if (findings.length > 0) process.exitCode = 1

/** Fuzzes one target, and reports the result. */
async function pass(work: Omit<Work, 'shared'>): Promise<void> {
  const report = await inThread<Report>(work)
  if ('input' in report) {
    findings.push(report)
    return
  }
  findings.push(...report.findings.map((each) => ({ ...each, input: Buffer.from(each.input) })))
  executions += report.executions
  if (options.input !== undefined) return console.log(`${work.target}: ${report.findings.length} findings`)
  console.log(
    row([
      work.target,
      report.executions.toLocaleString('en'),
      Math.round((report.executions / report.ms) * 1_000).toLocaleString('en'),
      report.coverage,
      report.corpus.length,
      Math.round(report.stepsPerByte),
      report.findings.length,
    ]),
  )
  if (!options.keep) return
  const kept = await inThread<Uint8Array[]>({ ...work, corpus: report.corpus, smallest: true })
  if (!('input' in kept))
    writeCorpus(
      work.target,
      kept.map((each) => Buffer.from(each)),
    )
}

/** @returns what the thread made; a finding: it read an input that it did not come back from */
function inThread<T>(work: Omit<Work, 'shared'>): Promise<T | Finding> {
  const shared = new SharedArrayBuffer(8 + INPUT_BYTES_MAX)
  const [head, content] = [new Uint32Array(shared, 0, 2), Buffer.from(shared, 8)]
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: { ...work, shared } satisfies Work,
    resourceLimits: { maxOldGenerationSizeMb: 1_024 },
  })
  return new Promise((resolve, reject) => {
    let [last, sinceMs] = [head[0], performance.now()]
    const look = setInterval(() => {
      if (last !== head[0] || last === 0) [last, sinceMs] = [head[0], performance.now()]
      else if (performance.now() - sinceMs > patienceMs)
        stop(`an input that is not read within ${options.patience}`)
    }, patienceMs / 10)
    const stop = (message: string) => {
      clearInterval(look)
      const input = Buffer.from(content.subarray(0, head[1]))
      void worker.terminate().then(() => resolve({ target: work.target, message, input }))
    }
    worker.once('message', (made: T) => {
      clearInterval(look)
      worker.once('exit', () => resolve(made))
      worker.postMessage('end')
    })
    worker.once('error', (error) => {
      // A module that does not load has read no input.
      if (head[0] === 0) reject(error)
      else stop(String(error))
    })
  })
}

function row(cells: readonly (string | number)[]): string {
  return cells
    .map((cell, column) => (column === 0 ? String(cell).padEnd(20) : String(cell).padStart(13)))
    .join('')
}

/** @param text `90s`, `10m` or `2h` */
function millisecondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [, count, unit] = /^(\d+)([smh])$/.exec(text) ?? []
  if (unit === undefined) throw new Error('--for: expected a time such as 90s, 10m or 2h')
  return Number(count) * { s: 1_000, m: 60_000, h: 3_600_000 }[unit as 's' | 'm' | 'h']
}
