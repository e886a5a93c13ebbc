/** How the cost of a check grows with the live tokens in use, and what memory they take. */
import { interleave } from '../harness/compare.ts'
import { type Contender, callCost, contend, unary } from '../harness/contender.ts'
import { cpuOf } from '../harness/cost.ts'
import type { Workload } from '../harness/grpc.ts'
import type { ServerProcess } from '../harness/process.ts'
import { comparedRow, singleRow } from '../harness/rows.ts'
import type { Row, SuiteReport } from '../harness/suite.ts'
import { startSidecar, startSidecarOn } from '../servers/start.ts'
import { newDataFolder, SignedTokens } from '../workloads/tokens.ts'

export interface TokenSizes {
  /** So many tokens in rotation that the sidecar remembers all of them. */
  readonly remembered: number
  /** So many tokens in rotation that most are forgotten before their next turn. */
  readonly many: number
  readonly rounds: number
  /** Checks a sample. */
  readonly calls: number
}

const CPU_METHOD =
  'Processor time of a sidecar for a check. Each row has a separate sidecar on the same data folder, warmed up: it has seen every token that it is to remember. A and B take turns.'
const REMEMBERED_CHECKS_METHOD = `${CPU_METHOD} The rotation fills nine tenths of what \`remembered_tokens\` allows.`
const MANY_METHOD = `${CPU_METHOD} \`remembered_tokens\` allows a quarter of the many. All of them were checked once before.`
const REMEMBERED_METHOD =
  'Resident memory of the sidecar after a check of each token, less that after as many checks of one token, divided by the tokens. Each time after a collection that gives unused pages back.'
const FURTHER_METHOD =
  'Growth of the resident memory of the sidecar over the checks of the second half of the many tokens, divided by the tokens of that half. Each half was checked twice, and each time a collection gave unused pages back: how many pages V8 and malloc keep for later depends on the load, and says nothing about tokens.'

/** Three sidecars on one data folder, and checks of tokens for them. */
interface Setup {
  readonly forOne: Contender
  readonly forRemembered: MeasuredContender
  readonly forMany: MeasuredContender
  readonly one: Workload
  readonly rotation: Workload
  readonly rotationOfMany: Workload
}

type MeasuredContender = Contender<ServerProcess<unknown>>

/** How much of the memory of tokens the rotations fill. */
const FULL = 0.9
const OVERFULL = 4
/** The least that the configuration takes. */
const REMEMBERED_LEAST = 1_000

export async function growthOfTokens({ remembered, many, rounds, calls }: TokenSizes): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const { forOne, forRemembered, forMany, one, rotation, rotationOfMany } = await setUp(
    stack,
    remembered,
    many,
  )
  await forOne.load.run(one, calls)
  const rememberedBytes = (await growthByRotation(forRemembered, one, rotation)) / remembered

  const further = Math.ceil(many / 2)
  const halfwayBytes = await bytesAfter(forMany, slice(rotationOfMany, 0, many - further))
  const furtherBytes =
    ((await bytesAfter(forMany, slice(rotationOfMany, many - further, further))) - halfwayBytes) / further
  let [turn, turnOfMany] = [0, 0]
  const samples = await interleave(
    {
      one: unary(forOne, one, calls),
      remembered: () => callCost(forRemembered, slice(rotation, calls * turn++, calls), calls),
      many: () => callCost(forMany, slice(rotationOfMany, calls * turnOfMany++, calls), calls),
    },
    rounds,
  )

  const row = (id: string, count: number, a: 'remembered' | 'many', method: string): Row =>
    comparedRow(
      { id, what: `Check, ${count.toLocaleString('en')} live tokens in rotation`, method },
      'µs CPU',
      { name: 'in rotation', samples: cpuOf(samples[a]) },
      { name: 'one token', samples: cpuOf(samples.one) },
    )
  return {
    rows: [
      row('remembered-tokens', remembered, 'remembered', REMEMBERED_CHECKS_METHOD),
      row('many-tokens', many, 'many', MANY_METHOD),
      memoryRow(
        'remembered-memory',
        `${remembered.toLocaleString('en')} remembered`,
        rememberedBytes,
        REMEMBERED_METHOD,
      ),
      memoryRow('memory', `${further.toLocaleString('en')} more than that`, furtherBytes, FURTHER_METHOD),
    ],
    answersChecked: 1,
  }
}

async function setUp(stack: AsyncDisposableStack, remembered: number, many: number): Promise<Setup> {
  const folder = newDataFolder(stack)
  const first = await startSidecar({ flags: ['--data', folder] })
  const another = async (remembering: number): Promise<MeasuredContender> => {
    const server = await startSidecarOn(folder, {
      environment: { PORTCULLIS_REMEMBERED_TOKENS: String(Math.max(REMEMBERED_LEAST, remembering)) },
    })
    return contend(server, server.ready.grpc, stack)
  }
  const signing = await contend(first, first.ready.grpc, stack)
  const tokens = await SignedTokens.of(folder, first.ready, signing.load)
  stack.defer(() => tokens.close())
  // A sidecar closes a connection that is silent for as long as many signatures take.
  const [one, rotation, rotationOfMany] = [1, remembered, many].map((count) => tokens.workload(count)) as [
    Workload,
    Workload,
    Workload,
  ]
  const forOne = await contend(first, first.ready.grpc, stack)
  const forRemembered = await another(Math.ceil(remembered / FULL))
  const forMany = await another(Math.ceil(many / OVERFULL))
  return { forOne, forRemembered, forMany, one, rotation, rotationOfMany }
}

/** The memory that the sidecar has after two rounds of checks of the tokens. */
async function bytesAfter({ server, load }: MeasuredContender, tokens: Workload): Promise<number> {
  for (let round = 0; round < 2; round++) {
    await load.run(tokens, tokens.questions.length)
    await server.trimmedResidentBytes()
  }
  return server.trimmedResidentBytes()
}

/** By how many bytes the sidecar grows when it has checked every token of the rotation. */
async function growthByRotation(
  { server, load }: MeasuredContender,
  one: Workload,
  rotation: Workload,
): Promise<number> {
  const count = rotation.questions.length
  // As many checks of one token come first, so that the memory that any such load takes is not counted.
  await load.run(one, count)
  const beforeBytes = await server.trimmedResidentBytes()
  await load.run(rotation, count)
  return (await server.trimmedResidentBytes()) - beforeBytes
}

/** Memory may also shrink a little, which means that no token takes any. */
function memoryRow(id: string, tokens: string, bytes: number, method: string): Row {
  return singleRow(
    { id, what: `memory a token, ${tokens}`, method },
    { name: 'grown', value: Math.max(0, bytes), unit: 'bytes' },
  )
}

/** The next questions of a workload. After the last comes the first. */
function slice({ path, questions, answerBytes }: Workload, start: number, count: number): Workload {
  const turns = <T>(values: readonly T[]) =>
    Array.from({ length: count }, (_, index) => values[(start + index) % values.length] as T)
  return { path, questions: turns(questions), answerBytes: turns(answerBytes) }
}
