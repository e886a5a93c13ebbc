/** How a check's cost grows with the live tokens that are in use, and what memory they take. */
import { interleave, median, ratioOf } from './compare.ts'
import { type Contender, contend } from './contender.ts'
import type { Workload } from './load.ts'
import { startSidecarOn, startSidecarProcess } from './server-process.ts'
import type { Figure, Row, SuiteReport } from './suite.ts'
import { MadeTokens, newDataFolder } from './tokens-made.ts'

export interface TokenSizes {
  /** Tokens in rotation that the sidecar remembers all. */
  readonly remembered: number
  /** Tokens in rotation of which each is long forgotten when its turn comes again. */
  readonly many: number
  readonly rounds: number
  /** Checks a sample. */
  readonly calls: number
}

const CPU_METHOD =
  'Processor time of a sidecar for a check; one sidecar a row on one data folder, each warm: of every token that is to be remembered it was asked before. A and B take turns.'
const MANY_METHOD = `${CPU_METHOD} Of the many, the first have filled what is remembered when the samples begin, and no sample asks about a token that is still remembered.`
const REMEMBERED_METHOD =
  'Resident memory of the sidecar after a check of each token, less that after as many checks of one token, for each token.'
const FURTHER_METHOD =
  'Growth of the resident memory of the sidecar over the second half of the checks of tokens that are each new, for each token of that half.'

export async function growthOfTokens({ remembered, many, rounds, calls }: TokenSizes): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const folder = newDataFolder(stack)
  const first = await startSidecarProcess(['--data', folder])
  const another = async () => {
    const server = await startSidecarOn(folder)
    return contend(server, server.ready.grpc, stack)
  }
  const forOne = await contend(first, first.ready.grpc, stack)
  const forRemembered = await another()
  const forMany = await another()
  const tokens = await MadeTokens.of(folder, first.ready, forOne.load)
  stack.defer(() => tokens.close())

  const one = tokens.workload(1)
  const rotation = tokens.workload(remembered)
  await forOne.load.run(one, calls)
  // As many as come after, so that what any such load takes is taken already.
  await forRemembered.load.run(one, remembered)
  const beforeBytes = await forRemembered.server.residentBytes()
  await forRemembered.load.run(rotation, remembered)
  const rememberedBytes = ((await forRemembered.server.residentBytes()) - beforeBytes) / remembered

  const further = rounds * calls
  await tokens.askUnseen(forMany.load, many - further)
  const halfwayBytes = await forMany.server.residentBytes()
  let turn = 0
  const samples = await interleave(
    {
      one: () => cpuPerCheck(forOne, one, calls),
      remembered: () => cpuPerCheck(forRemembered, slice(rotation, calls * turn++, calls), calls),
      many: () => cpuPerCheck(forMany, tokens.workload(calls), calls),
    },
    rounds,
  )
  const furtherBytes = Math.max(0, (await forMany.server.residentBytes()) - halfwayBytes) / further

  const row = (id: string, count: number, a: readonly number[], method: string): Row => ({
    id,
    what: `Check, ${count.toLocaleString('en')} live tokens in rotation`,
    a: cpu('in rotation', a),
    b: cpu('one token', samples.one),
    ratio: ratioOf(a, samples.one),
    method,
  })
  return {
    rows: [
      row('remembered-tokens', remembered, samples.remembered, CPU_METHOD),
      row('many-tokens', many, samples.many, MANY_METHOD),
      {
        id: 'remembered-memory',
        what: `memory a token, ${remembered.toLocaleString('en')} remembered`,
        a: { name: 'grown', value: Math.max(0, rememberedBytes), unit: 'bytes' },
        method: REMEMBERED_METHOD,
      },
      {
        id: 'memory',
        what: `memory a token, ${further.toLocaleString('en')} more than that`,
        a: { name: 'grown', value: furtherBytes, unit: 'bytes' },
        method: FURTHER_METHOD,
      },
    ],
    answersChecked: 1,
  }
}

function cpuPerCheck({ server, load }: Contender, workload: Workload, calls: number): Promise<number> {
  return server.cpuPerCall(calls, () => load.run(workload, calls))
}

/** The next questions of a workload, around its end. */
function slice({ path, questions, answerBytes }: Workload, start: number, count: number): Workload {
  const turns = <T>(values: readonly T[]) =>
    Array.from({ length: count }, (_, index) => values[(start + index) % values.length] as T)
  return { path, questions: turns(questions), answerBytes: turns(answerBytes) }
}

function cpu(name: string, samples: readonly number[]): Figure {
  return { name, value: median(samples), unit: 'µs CPU' }
}
