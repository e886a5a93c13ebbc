/**
 * Servers with what they are asked. Each is started and must answer everything correctly before it is
 * measured.
 */
import type { Engine } from '../../engine/index.ts'
import { revoke, tokenFor } from '../../test/support/interop/interop-identity.ts'
import { connectLoad, contend } from '../harness/contender.ts'
import { BUSY } from '../harness/grpc.ts'
import { type Http1Answer, Http1Load, http1Request } from '../harness/http1.ts'
import type { Latencies } from '../harness/latency.ts'
import type { MeasuredProcess, ServerProcess } from '../harness/process.ts'
import { type SidecarReady, startSidecar } from '../servers/start.ts'
import { authorizeConfigurationIn, authorizeRequests } from '../workloads/authorize.ts'
import { prepareWorkloads } from '../workloads/checks.ts'
import { cellQuestions } from '../workloads/questions.ts'
import { tokenChecks, upstreamConfigurationFor } from '../workloads/upstream.ts'
import {
  CERBOS_PATH,
  cerbosAnswer,
  cerbosHttpAnswer,
  cerbosHttpQuestion,
  cerbosQuestion,
  startCerbos,
} from './cerbos.ts'
import { startKeystone } from './keystone.ts'
import { opaAnswer, opaQuestion, startOpa } from './opa-server.ts'
import { refuseWrong, rulesOf } from './peer.ts'

export interface AskedServer {
  readonly name: string
  readonly server: MeasuredProcess
  /** How many calls it makes for one of the other server, because they are that much faster; default: 1. */
  readonly scale?: number
  /** Makes a number of calls, as many at once as the driver has in flight. */
  readonly run: (calls: number) => Promise<Latencies>
  /** How many answers were compared with the expected ones. */
  readonly answersChecked: number
}

/** Where a server puts its files, and the stack that stops it. */
export interface Place {
  readonly folder: string
  readonly stack: AsyncDisposableStack
}

/** The sidecar, asked with claims. The caller stops it. */
export async function askSidecar(
  server: ServerProcess<SidecarReady>,
  stack: AsyncDisposableStack,
): Promise<AskedServer> {
  const load = await connectLoad(server.ready.grpc, BUSY, stack)
  const { claims, answersChecked } = await prepareWorkloads(server.ready, load)
  return { name: 'sidecar', server, run: (calls) => load.run(claims, calls), answersChecked }
}

const CHECK = '/portcullis.v1.AuthorizationService/Check'

/** The same sidecar, asked in JSON over HTTP/1.1. The caller stops it. */
export function askSidecarJson(
  engine: Engine,
  server: ServerProcess<SidecarReady>,
  stack: AsyncDisposableStack,
): Promise<AskedServer> {
  const address = server.ready.http
  const headers = { host: address, 'content-type': 'application/json' }
  const requests = cellQuestions(engine).map(({ api, kind, scope }) =>
    http1Request('POST', CHECK, headers, JSON.stringify({ api, token: { kind, scope } })),
  )
  const answer = ({ body }: Http1Answer) =>
    (JSON.parse(body.toString()) as { readonly allowed: boolean }).allowed
  return askHttp1('sidecar, JSON', engine, { server, address, requests, answer }, stack)
}

/** A sidecar that a proxy asks about requests with a token of every kind. */
export async function askSidecarAuthorize(engine: Engine, { folder, stack }: Place): Promise<AskedServer> {
  const flags = ['--http', '127.0.0.1:0', '--config', authorizeConfigurationIn(folder)]
  const server = await startSidecar({ flags })
  stack.defer(() => server.stop())
  const requests = await authorizeRequests(engine, server.ready)
  const answer = ({ status }: Http1Answer) => status === 200
  const asked = { server, address: server.ready.http, requests, answer }
  return askHttp1('sidecar, /authorize', engine, asked, stack)
}

/** Cerbos, asked in JSON over HTTP/1.1. */
export async function askCerbosHttp(
  engine: Engine,
  binary: string,
  { folder, stack }: Place,
): Promise<AskedServer> {
  const { server, httpAddress: address } = await startCerbos(binary, rulesOf(engine), folder)
  stack.defer(() => server.stop())
  const requests = cellQuestions(engine).map(cerbosHttpQuestion)
  const asked = { server, address, requests, answer: ({ body }: Http1Answer) => cerbosHttpAnswer(body) }
  return askHttp1('Cerbos over HTTP', engine, asked, stack)
}

/** A server that is asked about every cell over HTTP/1.1, after its answers were compared. */
async function askHttp1(
  name: string,
  engine: Engine,
  {
    server,
    address,
    requests,
    answer,
  }: {
    readonly server: MeasuredProcess
    readonly address: string
    readonly requests: readonly Buffer[]
    readonly answer: (answer: Http1Answer) => boolean
  },
  stack: AsyncDisposableStack,
): Promise<AskedServer> {
  const load = new Http1Load(address, true)
  stack.defer(() => load.close())
  const answers: Http1Answer[] = []
  for (const request of requests) answers.push(await load.ask(request))
  refuseWrong(name, engine, answers.map(answer))
  const workload = {
    requests,
    bodyBytes: answers.map(({ body }) => body.length),
    statuses: answers.map(({ status }) => status),
  }
  return { name, server, run: (calls) => load.run(workload, calls), answersChecked: answers.length }
}

export async function askCerbos(
  engine: Engine,
  binary: string,
  { folder, stack }: Place,
): Promise<AskedServer> {
  const cerbos = await startCerbos(binary, rulesOf(engine), folder)
  const { server, load } = await contend(cerbos.server, cerbos.address, stack)
  const questions = cellQuestions(engine).map(cerbosQuestion)
  const answers: Buffer[] = []
  for (const question of questions) answers.push(...(await load.ask(CERBOS_PATH, [question])))
  refuseWrong('Cerbos', engine, answers.map(cerbosAnswer))
  const workload = { path: CERBOS_PATH, questions, answerBytes: answers.map(({ length }) => length) }
  return {
    name: 'Cerbos',
    server,
    run: (calls) => load.run(workload, calls),
    answersChecked: answers.length,
  }
}

export async function askOpa(engine: Engine, binary: string, { folder, stack }: Place): Promise<AskedServer> {
  const { server, address } = await startOpa(binary, rulesOf(engine), folder)
  stack.defer(() => server.stop())
  const requests = cellQuestions(engine).map(opaQuestion)
  return askHttp1('OPA', engine, { server, address, requests, answer: ({ body }) => opaAnswer(body) }, stack)
}

/** The sidecar, asked in the same way as Keystone. The caller stops it. */
export function askSidecarIdentity(
  server: ServerProcess<SidecarReady>,
  stack: AsyncDisposableStack,
): Promise<AskedServer> {
  const { http, demo } = server.ready
  const { account, project, service_user: user } = demo
  const identity: Identity = {
    server,
    identityUrl: `http://${http}/identity`,
    login: { account, user: user.name, password: user.password },
    project,
  }
  return askIdentity('sidecar', identity, stack)
}

/** A Keystone, with what a sidecar before it must know. */
export interface AskedKeystone extends AskedServer {
  readonly identity: Identity
}

export async function askKeystone(programs: string, { folder, stack }: Place): Promise<AskedKeystone> {
  const keystone = await startKeystone(programs, folder)
  stack.defer(() => keystone.server.stop())
  return { ...(await askIdentity('Keystone', keystone, stack)), identity: keystone }
}

/** A sidecar before that Keystone, asked about tokens of Keystone that it has seen. */
export async function askSidecarBefore(
  { identity: { identityUrl, login, project } }: AskedKeystone,
  { folder, stack }: Place,
): Promise<AskedServer> {
  const config = upstreamConfigurationFor(folder, { url: identityUrl, ...login, project })
  const server = await startSidecar({ flags: ['--config', config] })
  const sidecar = await contend(server, server.ready.grpc, stack)
  const tokens: string[] = []
  for (let index = 0; index < TOKENS; index++) tokens.push(await tokenFor(identityUrl, login, project))
  const workload = await tokenChecks(sidecar.load, tokens)
  return {
    name: 'sidecar, warm',
    server,
    scale: 25,
    run: (calls) => sidecar.load.run(workload, calls),
    answersChecked: tokens.length,
  }
}

/** A server that validates tokens as Keystone does, and a user of it. */
interface Identity {
  readonly server: MeasuredProcess
  readonly identityUrl: string
  readonly login: { readonly account: string; readonly user: string; readonly password: string }
  readonly project: string
}

/** How many tokens are asked about in turn. */
const TOKENS = 4

/**
 * One token of a user asks about other tokens of the same user. The measurement asks about valid tokens only.
 */
async function askIdentity(
  name: string,
  { server, identityUrl, login, project }: Identity,
  stack: AsyncDisposableStack,
): Promise<AskedServer> {
  const logIn = () => tokenFor(identityUrl, login, project)
  const asking = await logIn()
  const revoked = await logIn()
  await revoke(identityUrl, revoked)
  const valid: string[] = []
  for (let index = 0; index < TOKENS; index++) valid.push(await logIn())

  const { host, pathname } = new URL(`${identityUrl}/v3/auth/tokens`)
  const request = (token: string) =>
    http1Request('GET', pathname, {
      host,
      connection: 'close',
      'x-auth-token': asking,
      'x-subject-token': token,
    })
  const load = new Http1Load(host, false)
  stack.defer(() => load.close())
  const expected = [
    ...valid.map((token) => [token, 200] as const),
    [revoked, 404],
    ['no-token', 404],
  ] as const
  const bodyBytes: number[] = []
  for (const [token, expectedStatus] of expected) {
    const { status, body } = await load.ask(request(token))
    if (status !== expectedStatus) throw new Error(`${name} answers ${status}, expected ${expectedStatus}`)
    bodyBytes.push(body.length)
  }
  const workload = { requests: valid.map(request), bodyBytes: bodyBytes.slice(0, valid.length) }
  return { name, server, run: (calls) => load.run(workload, calls), answersChecked: expected.length }
}
