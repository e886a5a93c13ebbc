/** Servers with what they are asked: each is started, answers everything rightly, and only then is asked at speed. */
import type { Engine } from '../../engine/index.ts'
import { revoke, tokenFor } from '../../test/support/interop/identity.ts'
import { Load } from '../load.ts'
import { Http1Load, http1Request } from '../load-http1.ts'
import { cellQuestions } from '../questions.ts'
import type { MeasuredProcess, ServerProcess, SidecarReady } from '../server-process.ts'
import { prepareWorkloads } from '../workloads.ts'
import { CERBOS_PATH, cerbosAnswer, cerbosQuestion, startCerbos } from './cerbos.ts'
import { startKeystone } from './keystone.ts'
import { opaAnswer, opaQuestion, startOpa } from './opa-server.ts'
import { refuseWrong, rulesOf } from './peer.ts'

export interface Contender {
  readonly name: string
  readonly server: MeasuredProcess
  /** Asks so many times, as many at once as the driver has in flight. */
  readonly run: (calls: number) => Promise<void>
  /** How many answers were compared with what they should be. */
  readonly answersChecked: number
}

/** What a contender needs to start: where its files go, and what stops it again. */
export interface Place {
  readonly folder: string
  readonly stack: AsyncDisposableStack
}

/** The sidecar, asked by claims. */
export async function contendSidecar(
  engine: Engine,
  server: ServerProcess<SidecarReady>,
  stack: AsyncDisposableStack,
): Promise<Contender> {
  const load = await Load.connect(server.ready.grpc)
  stack.defer(() => load.close())
  const { claims, answersChecked } = await prepareWorkloads(engine, server.ready, load)
  return { name: 'sidecar', server, run: (calls) => load.run(claims, calls), answersChecked }
}

export async function contendCerbos(
  engine: Engine,
  binary: string,
  { folder, stack }: Place,
): Promise<Contender> {
  const { server, address } = await startCerbos(binary, rulesOf(engine), folder)
  stack.defer(() => server.stop())
  const load = await Load.connect(address)
  stack.defer(() => load.close())
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

export async function contendOpa(
  engine: Engine,
  binary: string,
  { folder, stack }: Place,
): Promise<Contender> {
  const { server, address } = await startOpa(binary, rulesOf(engine), folder)
  stack.defer(() => server.stop())
  const load = new Http1Load(address, true)
  stack.defer(() => load.close())
  const requests = cellQuestions(engine).map(opaQuestion)
  const bodies: Buffer[] = []
  for (const request of requests) bodies.push((await load.ask(request)).body)
  refuseWrong('OPA', engine, bodies.map(opaAnswer))
  const workload = { requests, bodyBytes: bodies.map(({ length }) => length) }
  return { name: 'OPA', server, run: (calls) => load.run(workload, calls), answersChecked: bodies.length }
}

/** The sidecar, asked as Keystone is. */
export function contendSidecarIdentity(
  server: ServerProcess<SidecarReady>,
  stack: AsyncDisposableStack,
): Promise<Contender> {
  const { http, demo } = server.ready
  const { account, project, service_user: user } = demo
  const identity: Identity = {
    server,
    identityUrl: `http://${http}/identity`,
    login: { account, user: user.name, password: user.password },
    project,
  }
  return contendIdentity('sidecar', identity, stack)
}

export async function contendKeystone(programs: string, { folder, stack }: Place): Promise<Contender> {
  const keystone = await startKeystone(programs, folder)
  stack.defer(() => keystone.server.stop())
  return contendIdentity('Keystone', keystone, stack)
}

/** A server with the validation of Keystone, and who may log in there. */
interface Identity {
  readonly server: MeasuredProcess
  readonly identityUrl: string
  readonly login: { readonly account: string; readonly user: string; readonly password: string }
  readonly project: string
}

/** How many tokens take turns. */
const TOKENS = 4

/** One token of a user asks about others of the same user: the valid ones are what is asked about at speed. */
async function contendIdentity(
  name: string,
  { server, identityUrl, login, project }: Identity,
  stack: AsyncDisposableStack,
): Promise<Contender> {
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
    if (status !== expectedStatus) throw new Error(`${name} answers ${status} for ${expectedStatus}`)
    bodyBytes.push(body.length)
  }
  const workload = { requests: valid.map(request), bodyBytes: bodyBytes.slice(0, valid.length) }
  return { name, server, run: (calls) => load.run(workload, calls), answersChecked: expected.length }
}
