/**
 * A program: compares servers of others with the sidecar, on the same questions over loopback.
 *
 *     node bench/peers/servers.ts full|smoke     (a child of bench/suites/peers.ts)
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { interleave, type Measure } from '../harness/compare.ts'
import { type Cost, cpuOf, latenciesOf, timeOf } from '../harness/cost.ts'
import { requireProc } from '../harness/foreign.ts'
import { latencyOf } from '../harness/latency.ts'
import { comparedRow, type Side } from '../harness/rows.ts'
import { Skips } from '../harness/skips.ts'
import type { Row, Size, SuiteReport } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { startSidecar } from '../servers/start.ts'
import { shippedEngine } from '../workloads/questions.ts'
import { CERBOS_CONFIGURED, installCerbos } from './cerbos.ts'
import {
  type AskedServer,
  askCerbos,
  askCerbosHttp,
  askKeystone,
  askOpa,
  askSidecar,
  askSidecarAuthorize,
  askSidecarBefore,
  askSidecarIdentity,
  askSidecarJson,
  type Place,
} from './contenders.ts'
import { installKeystone, KEYSTONE_CONFIGURED } from './keystone.ts'
import { installOpa } from './opa.ts'
import { OPA_SERVER_CONFIGURED } from './opa-server.ts'
import { runForParent } from './program.ts'

interface Effort {
  readonly warmUpCalls: number
  readonly rounds: number
  /**
   * Calls in each round. Linux reports processor time in ticks of 10 ms, so a tick must be a small part of
   * it.
   */
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
  'CPU: processor time of the server for each call, all threads. Time: the clock divided by the calls, many in flight, while driver and server share the processors. Both servers are warmed up alike and take turns, and the ratio is the median over the rounds.'
const DECISIONS =
  'The sidecar: `Check` of claims over gRPC, 8 connections × 16 in flight, for every cell in turn.'
const JSON_DECISIONS =
  'Both get JSON over HTTP/1.1 from the same driver, 8 kept connections with one request in flight on each, for every cell in turn. The sidecar: `Check` of claims by the protocol Connect.'
const AUTHORIZATIONS =
  'The sidecar: `GET /authorize/API` as nginx asks, with a token of each kind in turn, which it verifies; it answers who sent the request. The other server gets the kind, in JSON. Both over HTTP/1.1 from the same driver, 8 kept connections with one request in flight on each, for every cell in turn.'
const VALIDATIONS =
  'Both are asked whether a token is valid: a project-scoped token of a user asks about other tokens of that user. Both get the same `GET /v3/auth/tokens` from the same driver, 8 at once, each on a separate connection, as uWSGI serves it; the latency includes opening the connection.'
const CHECKS_BEFORE =
  'Both are asked whether tokens of Keystone are valid. The sidecar stands before this Keystone and has seen the tokens: `Check` over gRPC, 8 connections × 16 in flight. Keystone gets `GET /v3/auth/tokens`, 8 at once, each on a separate connection, as uWSGI serves it.'

/** A server to compare with the sidecar. */
interface PeerServer {
  /** Beginning of the ids of its rows. */
  readonly id: string
  /** The question to both. */
  readonly what: string
  readonly method: string
  /** @throws CommandFailed if the server cannot be had: its rows are then skipped */
  readonly install: () => Promise<string>
  /**
   * Starts the installed server. If this fails, the suite fails.
   *
   * @returns it, and its comparison; default: the sidecar that all are
   */
  readonly start: (
    obtained: string,
    place: Place,
  ) => Promise<AskedServer | { readonly theirs: AskedServer; readonly ours: AskedServer }>
}

await runForParent(run)

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const folder = temporaryFolder(stack)
  const sidecar = await startSidecar({ flags: ['--http', '127.0.0.1:0'] })
  stack.defer(() => sidecar.stop())

  const skips = new Skips()
  const rows: Row[] = []
  let answersChecked = 0
  const beside = async (ours: AskedServer, effort: Effort, peers: readonly PeerServer[]) => {
    answersChecked += ours.answersChecked
    for (const peer of peers) {
      const compared = await compareWith(peer, ours, effort, skips, folder)
      rows.push(...compared.rows)
      answersChecked += compared.answersChecked
    }
  }
  await beside(await askSidecar(sidecar, stack), SIZES[size].decisions, decidingPeers())
  const json = await askSidecarJson(shippedEngine(), sidecar, stack)
  await beside(json, SIZES[size].decisions, decidingOverHttp())
  const authorize = await askSidecarAuthorize(shippedEngine(), { folder, stack })
  await beside(authorize, SIZES[size].decisions, decidingForProxies())
  await beside(await askSidecarIdentity(sidecar, stack), SIZES[size].validations, validatingPeers())
  return { rows, skipped: skips.list, answersChecked }
}

/** Servers that decide. */
function decidingPeers(): PeerServer[] {
  const engine = shippedEngine()
  return [
    {
      id: 'cerbos',
      what: 'Check of claims',
      method: `${METHOD} ${DECISIONS} ${CERBOS_CONFIGURED}`,
      install: installCerbos,
      start: (binary, place) => askCerbos(engine, binary, place),
    },
    {
      id: 'opa',
      what: 'Check of claims',
      method: `${METHOD} ${DECISIONS} ${OPA_SERVER_CONFIGURED}`,
      install: installOpa,
      start: (binary, place) => askOpa(engine, binary, place),
    },
  ]
}

/** The same servers over HTTP. */
function decidingOverHttp(): PeerServer[] {
  return overHttp('json', 'Check of claims as JSON', JSON_DECISIONS)
}

/** The same servers again, beside what a proxy asks. */
function decidingForProxies(): PeerServer[] {
  return overHttp('authorize', 'question of a proxy', AUTHORIZATIONS)
}

function overHttp(id: string, what: string, asked: string): PeerServer[] {
  const engine = shippedEngine()
  return [
    {
      ...{ id: `${id}-cerbos`, what },
      method: `${METHOD} ${asked} ${CERBOS_CONFIGURED}`,
      install: installCerbos,
      start: (binary, place) => askCerbosHttp(engine, binary, place),
    },
    {
      ...{ id: `${id}-opa`, what },
      method: `${METHOD} ${asked} ${OPA_SERVER_CONFIGURED}`,
      install: installOpa,
      start: (binary, place) => askOpa(engine, binary, place),
    },
  ]
}

/** Servers that validate tokens. */
function validatingPeers(): PeerServer[] {
  return [
    {
      id: 'keystone',
      what: 'validation of a token',
      method: `${METHOD} ${VALIDATIONS} ${KEYSTONE_CONFIGURED}`,
      install: installKeystone,
      start: askKeystone,
    },
    {
      id: 'keystone-check',
      what: 'validation of a token of Keystone',
      method: `${METHOD} ${CHECKS_BEFORE} ${KEYSTONE_CONFIGURED}`,
      install: installKeystone,
      start: async (programs, place) => {
        const theirs = await askKeystone(programs, place)
        return { theirs, ours: await askSidecarBefore(theirs, place) }
      },
    },
  ]
}

/** Starts the server, compares it with ours and stops it again. Its rows are skipped if it cannot be had. */
async function compareWith(
  peer: PeerServer,
  usual: AskedServer,
  { warmUpCalls, rounds, calls }: Effort,
  skips: Skips,
  folder: string,
): Promise<{ readonly rows: readonly Row[]; readonly answersChecked: number }> {
  const obtained = await skips.obtain([`${peer.id}-cpu`, `${peer.id}-time`], async () => {
    requireProc()
    return peer.install()
  })
  if (obtained === undefined) return { rows: [], answersChecked: 0 }
  await using stack = new AsyncDisposableStack()
  const place = { folder: join(folder, peer.id), stack }
  mkdirSync(place.folder)
  const started = await peer.start(obtained, place)
  const { theirs, ours } = 'theirs' in started ? started : { theirs: started, ours: usual }
  await ours.run(warmUpCalls * (ours.scale ?? 1))
  await theirs.run(warmUpCalls)
  const samples = await interleave({ ours: sample(ours, calls), theirs: sample(theirs, calls) }, rounds)
  const cpu = (name: string, costs: readonly Cost[]): Side => ({ name, samples: cpuOf(costs) })
  const time = (name: string, costs: readonly Cost[]): Side => ({
    name,
    samples: timeOf(costs),
    latency: latencyOf(latenciesOf(costs)),
  })
  const texts = (of: 'cpu' | 'time', note: string) => ({
    id: `${peer.id}-${of}`,
    what: `${peer.what}, ${note}, beside ${theirs.name}`,
    method: peer.method,
  })
  return {
    rows: [
      comparedRow(
        texts('cpu', 'CPU'),
        'µs CPU',
        cpu(ours.name, samples.ours),
        cpu(theirs.name, samples.theirs),
      ),
      comparedRow(
        texts('time', 'time'),
        'µs',
        time(ours.name, samples.ours),
        time(theirs.name, samples.theirs),
      ),
    ],
    answersChecked: theirs.answersChecked + (ours === usual ? 0 : ours.answersChecked),
  }
}

function sample({ server, run, scale = 1 }: AskedServer, calls: number): Measure<Cost> {
  return () => server.costPerCall(calls * scale, () => run(calls * scale))
}
