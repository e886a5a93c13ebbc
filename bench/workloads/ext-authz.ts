/**
 * The questions of an Envoy about requests, and those of a service about the same ones. Every answer is first
 * decoded and compared.
 */
import { join } from 'node:path'
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader'
import * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import { CHECK_PATH, type GrpcLoad, type Workload } from '../harness/grpc.ts'
import { ROOT } from '../harness/paths.ts'
import type { SidecarReady } from '../servers/start.ts'
import { checkQuestion, obtainTokens } from './checks.ts'
import { cellQuestions, shippedEngine } from './questions.ts'

const definitions = loadSync('envoy/service/auth/v3/external_auth.proto', {
  ...{ keepCase: true, defaults: true, includeDirs: [join(ROOT, 'sidecar/contract/ext-authz/proto')] },
})
type Codec = MessageTypeDefinition<object, { status?: { code: number } }>
const REQUEST = definitions['envoy.service.auth.v3.CheckRequest'] as unknown as Codec
const RESPONSE = definitions['envoy.service.auth.v3.CheckResponse'] as unknown as Codec

const PATH = '/envoy.service.auth.v3.Authorization/Check'

/** Beside the credential: what Envoy sends about a request of a program, its own headers included. */
const HEADERS: Readonly<Record<string, string>> = {
  ':authority': 'api.example',
  ':path': '/v1/items?limit=100&marker=00000000-0000-4000-8000-000000000000',
  ':method': 'GET',
  ':scheme': 'https',
  accept: 'application/json',
  'accept-encoding': 'gzip, deflate, br',
  'content-type': 'application/json',
  'user-agent': 'openstacksdk/4.7.1 keystoneauth1/5.11.1 python-requests/2.32.5 CPython/3.13.7',
  'x-openstack-request-id': 'req-00000000-0000-4000-8000-000000000000',
  'x-forwarded-proto': 'https',
  'x-forwarded-for': '203.0.113.7',
  'x-request-id': '00000000-0000-4000-8000-000000000000',
  traceparent: '00-00000000000000000000000000000001-0000000000000001-01',
}

export interface ExtAuthzWorkloads {
  /** As an Envoy asks. */
  readonly envoy: Workload
  /** `Check` of the credential alone. */
  readonly native: Workload
  readonly answersChecked: number
}

/** Both IAM tokens against every API. @throws Error if the sidecar gives a wrong answer */
export async function extAuthzWorkloads(ready: SidecarReady, load: GrpcLoad): Promise<ExtAuthzWorkloads> {
  const engine = shippedEngine()
  const tokens = await obtainTokens(engine, ready)
  const envoy = new Questions(PATH, load)
  const native = new Questions(CHECK_PATH, load)
  for (const { api, kind, scope } of cellQuestions(engine, ready.demo.account, ready.demo.project)) {
    const { header = '', obtained } = engine.tokenKinds.get(kind) ?? {}
    if (obtained?.by !== 'issue') continue
    const token = tokens.get(kind) ?? ''
    const { allowed } = engine.decide({ api, kind, scope })
    const asked = requestOf(api, { [header.toLowerCase()]: token })
    await envoy.add(asked, (answer) => (RESPONSE.deserialize(answer).status?.code === 0) === allowed)
    const question = checkQuestion({ api, credentials: [[header, token]] })
    await native.add(question, (answer) => wire.CheckResponse.decode(answer).allowed === allowed)
  }
  return { envoy, native, answersChecked: envoy.questions.length + native.questions.length }
}

/** Questions with the lengths of their answers. */
class Questions implements Workload {
  readonly path: string
  readonly questions: Buffer[] = []
  readonly answerBytes: number[] = []
  readonly #load: GrpcLoad

  constructor(path: string, load: GrpcLoad) {
    this.path = path
    this.#load = load
  }

  async add(question: Buffer, isRight: (answer: Buffer) => boolean): Promise<void> {
    const [answer] = await this.#load.ask(this.path, [question])
    if (answer === undefined || !isRight(answer)) throw new Error(`a wrong answer of ${this.path}`)
    this.questions.push(question)
    this.answerBytes.push(answer.length)
  }
}

export function requestOf(api: string, more: Readonly<Record<string, string>>): Buffer {
  const headers: Record<string, string> = { ...HEADERS, ...more }
  const http = {
    method: headers[':method'],
    path: headers[':path'],
    host: headers[':authority'],
    scheme: headers[':scheme'],
    headers,
  }
  const address = { socket_address: { address: '203.0.113.7' } }
  const attributes = { source: { address }, request: { http }, context_extensions: { api } }
  return REQUEST.serialize({ attributes })
}
