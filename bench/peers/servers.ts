/**
 * A program: servers of others beside the sidecar, on the same questions over loopback.
 *
 *     node bench/peers/servers.ts full|smoke     (a child of bench/peers.ts)
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { interleave, type Measure, median, ratioOf } from '../compare.ts'
import { requireProc } from '../foreign-server.ts'
import { type Cost, startSidecarProcess } from '../server-process.ts'
import { Skips } from '../skips.ts'
import type { Row, Size, SuiteReport } from '../suite.ts'
import { temporaryFolder } from '../temporary.ts'
import { CERBOS_CONFIGURED, installCerbos } from './cerbos.ts'
import {
  type Contender,
  contendCerbos,
  contendKeystone,
  contendOpa,
  contendSidecar,
  contendSidecarIdentity,
  type Place,
} from './contenders.ts'
import { installKeystone, KEYSTONE_CONFIGURED } from './keystone.ts'
import { installOpa } from './opa.ts'
import { OPA_SERVER_CONFIGURED } from './opa-server.ts'
import { runForParent } from './program.ts'

interface Effort {
  readonly warmUpCalls: number
  readonly rounds: number
  /** In each round, so many that the 10 ms to which Linux tells processor time are a small part of it. */
  readonly calls: number
}

/** A decision takes microseconds, a validation by Keystone milliseconds. */
const SIZES: Record<Size, { readonly decisions: Effort; readonly validations: Effort }> = {
  full: {
    decisions: { warmUpCalls: 20_000, rounds: 15, calls: 10_000 },
    validations: { warmUpCalls: 400, rounds: 9, calls: 400 },
  },
  smoke: {
    decisions: { warmUpCalls: 200, rounds: 1, calls: 1_000 },
    validations: { warmUpCalls: 8, rounds: 1, calls: 40 },
  },
}

const METHOD =
  'CPU: processor time of the server for each call, all threads. Time: the clock for each call, many in flight, while driver and server share the processors. Both servers are warmed up alike and take turns, and the ratio is the median over the rounds.'
const DECISIONS =
  'The sidecar: `Check` of claims over gRPC, 8 connections × 16 in flight, for every cell in turn.'
const VALIDATIONS =
  'Both are asked whether a token is valid, a project-scoped token of a user about others of that user, with the same `GET /v3/auth/tokens` by the same driver, 8 at once, each on a connection of its own, as uWSGI has it.'

await runForParent(run)

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const folder = temporaryFolder(stack)
  const sidecar = await startSidecarProcess(['--http', '127.0.0.1:0'])
  stack.defer(() => sidecar.stop())

  const engine = compile(supportMatrix)
  const { decisions, validations } = SIZES[size]
  const skips = new Skips()
  const rows: Row[] = []
  let answersChecked = 0
  const beside = async (ours: Contender, effort: Effort, peer: PeerServer<string>) => {
    const obtained = await skips.obtain([`${peer.id}-cpu`, `${peer.id}-time`], async () => {
      requireProc()
      return peer.install()
    })
    if (obtained === undefined) return
    await using peerStack = new AsyncDisposableStack()
    const place = { folder: join(folder, peer.id), stack: peerStack }
    mkdirSync(place.folder)
    const theirs = await peer.contend(obtained, place)
    answersChecked += theirs.answersChecked
    rows.push(...(await compare(peer, ours, theirs, effort)))
  }

  const decides = await contendSidecar(engine, sidecar, stack)
  answersChecked += decides.answersChecked
  await beside(decides, decisions, {
    id: 'cerbos',
    what: 'Check of claims',
    method: `${METHOD} ${DECISIONS} ${CERBOS_CONFIGURED}`,
    install: installCerbos,
    contend: (binary, place) => contendCerbos(engine, binary, place),
  })
  await beside(decides, decisions, {
    id: 'opa',
    what: 'Check of claims',
    method: `${METHOD} ${DECISIONS} ${OPA_SERVER_CONFIGURED}`,
    install: installOpa,
    contend: (binary, place) => contendOpa(engine, binary, place),
  })
  const validates = await contendSidecarIdentity(sidecar, stack)
  answersChecked += validates.answersChecked
  await beside(validates, validations, {
    id: 'keystone',
    what: 'validation of a token',
    method: `${METHOD} ${VALIDATIONS} ${KEYSTONE_CONFIGURED}`,
    install: installKeystone,
    contend: contendKeystone,
  })
  return { rows, skipped: skips.list, answersChecked }
}

/** A server to put beside the sidecar. */
interface PeerServer<Obtained> {
  /** Beginning of the ids of its rows. */
  readonly id: string
  /** What both are asked for. */
  readonly what: string
  readonly method: string
  /** @throws CommandFailed where it cannot be had: its rows are skipped then */
  readonly install: () => Promise<Obtained>
  /** Starts it. What goes wrong here is a failure. */
  readonly contend: (obtained: Obtained, place: Place) => Promise<Contender>
}

async function compare(
  { id, what, method }: Pick<PeerServer<string>, 'id' | 'what' | 'method'>,
  ours: Contender,
  theirs: Contender,
  { warmUpCalls, rounds, calls }: Effort,
): Promise<Row[]> {
  await ours.run(warmUpCalls)
  await theirs.run(warmUpCalls)
  const samples = await interleave({ ours: sample(ours, calls), theirs: sample(theirs, calls) }, rounds)
  const row = (of: keyof Cost, unit: 'µs CPU' | 'µs', note: string): Row => {
    const a = samples.ours.map((one) => one[of])
    const b = samples.theirs.map((one) => one[of])
    return {
      id: `${id}-${of}`,
      what: `${what}, ${note}, beside ${theirs.name}`,
      a: { name: ours.name, value: median(a), unit },
      b: { name: theirs.name, value: median(b), unit },
      ratio: ratioOf(a, b),
      method,
    }
  }
  return [row('cpu', 'µs CPU', 'CPU'), row('time', 'µs', 'time')]
}

function sample({ server, run }: Contender, calls: number): Measure<Cost> {
  return () => server.costPerCall(calls, () => run(calls))
}
