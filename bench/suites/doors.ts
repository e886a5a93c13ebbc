/**
 * The doors of the HTTP server, each compared with a server of node:http that sends a constant answer of the
 * same length.
 */
import type { Engine } from '../../engine/index.ts'
import { interleave, median } from '../harness/compare.ts'
import { type Http1Answer, Http1Load, type Http1Workload, http1Request } from '../harness/http1.ts'
import type { ServerProcess } from '../harness/process.ts'
import { cpuRow } from '../harness/rows.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { type SidecarReady, startSidecar, startTarget } from '../servers/start.ts'
import { authorizeConfigurationIn, authorizeRequests } from '../workloads/authorize.ts'
import { loginOf } from '../workloads/login.ts'
import { cellQuestions, shippedEngine } from '../workloads/questions.ts'

export const doorsSuite: Suite = { name: 'doors', run }

const SIZES = {
  full: { warmUpCalls: 15_000, pairs: 15, calls: 8_000 },
  smoke: { warmUpCalls: 20, pairs: 1, calls: 20 },
} as const

const METHOD =
  'Processor time of the sidecar for each request over HTTP/1.1, all threads, one in flight on each of eight connections. It is compared with a server of node:http that gets the same requests, reads their bodies, and sends a constant answer with as many bytes. Both take turns, and the ratio is the median over the pairs.'

/** Bytes of the head of the constant answer, about. */
const CONSTANT_HEAD_BYTES = 160

interface Door {
  readonly id: string
  readonly what: string
  readonly server: ServerProcess<SidecarReady>
  readonly requests: readonly Buffer[]
  /** Whether the answer says yes; absent: every answer has the status 200. */
  readonly allowed?: (answer: Http1Answer) => boolean
}

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const engine = shippedEngine()
  const flags = ['--http', '127.0.0.1:0']
  const plain = await startSidecar({ flags, environment: { PORTCULLIS_HTTP_AUTHZEN: 'true' } })
  stack.defer(() => plain.stop())
  // A sidecar with proxies takes calls of known callers alone.
  const config = authorizeConfigurationIn(temporaryFolder(stack))
  const proxied = await startSidecar({ flags: [...flags, '--config', config] })
  stack.defer(() => proxied.stop())
  const rows: Row[] = []
  let answersChecked = 0
  for (const door of [
    ...(await doorsOf(engine, plain)),
    {
      id: 'authorize',
      what: 'GET /authorize with a token',
      server: proxied,
      requests: await authorizeRequests(engine, proxied.ready),
      allowed: ({ status }: Http1Answer) => status === 200,
    },
  ]) {
    rows.push(await measure(size, door, engine))
    answersChecked += door.requests.length
  }
  return { rows, answersChecked }
}

async function measure(size: Size, door: Door, engine: Engine): Promise<Row> {
  await using stack = new AsyncDisposableStack()
  const { id, what, server, requests } = door
  const { warmUpCalls, pairs, calls } = SIZES[size]
  const load = new Http1Load(server.ready.http, true)
  stack.defer(() => load.close())
  const { workload, answerBytes } = await examined(load, door, engine)
  const bytes = Math.max(0, answerBytes - CONSTANT_HEAD_BYTES)
  const constant = await startTarget(bytes)
  stack.defer(() => constant.stop())
  const constantLoad = new Http1Load(constant.ready.http, true)
  stack.defer(() => constantLoad.close())
  const plain = { requests, bodyBytes: requests.map(() => bytes) }
  await load.run(workload, warmUpCalls)
  await constantLoad.run(plain, warmUpCalls)
  const samples = await interleave(
    {
      door: () => server.costPerCall(calls, () => load.run(workload, calls)),
      constant: () => constant.costPerCall(calls, () => constantLoad.run(plain, calls)),
    },
    pairs,
  )
  return cpuRow({ id, what, method: METHOD }, samples.door, 'a constant answer', samples.constant)
}

async function doorsOf(engine: Engine, server: Door['server']): Promise<Door[]> {
  const { ready } = server
  const headers = { host: ready.http, 'content-type': 'application/json' }
  const questions = cellQuestions(engine)
  const post = (path: string, body: object) => http1Request('POST', path, headers, JSON.stringify(body))
  const json = questions.map(({ api, kind, scope }) =>
    post('/portcullis.v1.AuthorizationService/Check', { api, token: { kind, scope } }),
  )
  const authzen = questions.map(({ api, kind, scope }) =>
    post('/access/v1/evaluation', {
      subject: { type: 'token', id: kind, properties: scope },
      action: { name: 'call' },
      resource: { type: 'api', id: api },
    }),
  )
  const login = loginOf(ready)
  const token = await login.overHttp()
  login.close()
  const subject = { host: ready.http, 'x-auth-token': token, 'x-subject-token': token }
  return [
    { id: 'json', what: 'Check of claims as JSON', server, requests: json, allowed: says('allowed') },
    {
      id: 'authzen',
      what: 'an AuthZEN evaluation of claims',
      server,
      requests: authzen,
      allowed: says('decision'),
    },
    {
      id: 'identity',
      what: 'GET /identity/v3/auth/tokens',
      server,
      requests: [http1Request('GET', '/identity/v3/auth/tokens', subject)],
    },
  ]
}

/** Whether a field of the answer is true. */
function says(field: string): (answer: Http1Answer) => boolean {
  return ({ body }) => (JSON.parse(body.toString()) as Record<string, unknown>)[field] === true
}

/** @throws Error if the door answers otherwise than the engine decides */
async function examined(
  load: Http1Load,
  { id, requests, allowed }: Door,
  engine: Engine,
): Promise<{ workload: Http1Workload; answerBytes: number }> {
  const questions = cellQuestions(engine)
  const answers: Http1Answer[] = []
  for (const [index, request] of requests.entries()) {
    const answer = await load.ask(request)
    const question = questions[index]
    const isRight =
      allowed === undefined
        ? answer.status === 200
        : question !== undefined && allowed(answer) === engine.decide(question).allowed
    if (!isRight) throw new Error(`a wrong answer of ${id}: ${answer.headers} ${answer.body.toString()}`)
    answers.push(answer)
  }
  const workload = {
    requests,
    bodyBytes: answers.map(({ body }) => body.length),
    statuses: answers.map(({ status }) => status),
  }
  const answerBytes = Math.round(median(answers.map(({ headers, body }) => headers.length + 4 + body.length)))
  return { workload, answerBytes }
}
