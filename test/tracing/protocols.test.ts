/**
 * Every protocol, whatever its caller says of a trace: whether the call has a span, and the trace of that
 * span.
 */
import { expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { askBatch, askStream, credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { askAt } from '../support/identity/identity.ts'
import { ENVOY_TOKEN, iam, peopleBehindEnvoy } from '../support/proxies/behind-envoy.ts'
import { EnvoyClient } from '../support/proxies/ext-authz.ts'
import { PROXY_SECRET } from '../support/proxies/proxied.ts'
import { ask, startTarget } from '../support/sidecar/egress.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { type ReceivedSpan, spansAt, startEndpoint } from '../support/signals/otlp.ts'
import { newFile, passing } from '../support/suite/resources.ts'

const { digest } = compile(supportMatrix, {})
const AUTHORIZATION = 'Bearer of-the-collector'
const CANARY = 'canary-7f3a'
/** The values that clients send beside the credential. */
const canaries = {
  ...{ cookie: `session=${CANARY}`, 'user-agent': CANARY, 'x-forwarded-user': CANARY },
  ...{ 'x-subject-token': CANARY, baggage: `a=${CANARY}` },
}
const people = await peopleBehindEnvoy()
const secrets = [
  CANARY,
  ...[people.account, people.project, people.staticToken, people.revoked, people.restricted],
  ...[ENVOY_TOKEN, PROXY_SECRET, 'of-the-collector'],
]
const endpoint = await startEndpoint()
const target = await startTarget()
const tracing = {
  'traces.otlp.url': `${endpoint.origin}/v1/traces`,
  'traces.otlp.authorization_file': newFile(AUTHORIZATION),
  'traces.sample_percent': 100,
}
const running = await people.run(
  {
    ...{ 'http.address': '127.0.0.1:0', 'http.authzen': true, 'http.connect': true, ...tracing },
    ...{ 'health.address': '127.0.0.1:0' },
  },
  {
    egress: {
      address: '127.0.0.1:0',
      routes: [{ path: '/', url: target.url, api: 'balance', profile: 'gateway', callers: 'anyone' }],
    },
  },
)
const port = Number(running.sidecar.httpAddress?.split(':').at(-1))
const box = new BlackBox(running.address)
const envoy = new EnvoyClient(running.address)
const byToken = credentialQuestion('balance', 'X-Auth-Token', people.account)
const byClaims = {
  api: 'reports',
  token: { kind: 'iam_token_project_scoped', scope: { account: ACCOUNT, project: 'alpha' } },
}

type Fields = Readonly<Record<string, string>>

const wishes = (metadata: Fields) => ({ callerToken: ENVOY_TOKEN, metadata: { ...canaries, ...metadata } })
const asProxy = { 'x-portcullis-proxy-secret': PROXY_SECRET, host: 'api.example', ...canaries }

async function get(path: string, headers: Fields): Promise<void> {
  const answer = await askAt(port, { method: 'GET', path, headers })
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`)
}

async function post(path: string, body: object, fields: Fields): Promise<void> {
  const headers = { 'content-type': 'application/json', ...canaries, ...fields }
  const authorization = `Bearer ${ENVOY_TOKEN}`
  const answer = await askAt(port, { method: 'POST', path, headers: { ...headers, authorization }, body })
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`)
}

const ALLOWED = {
  ...{ 'portcullis.api': 'balance', 'portcullis.kind': 'iam_token_account_scoped' },
  ...{ 'portcullis.allowed': true, 'portcullis.reason': 'ALLOWED', 'portcullis.matrix.digest': digest },
  'portcullis.subject.id': expect.stringMatching(/./),
}
const DENIED = {
  ...{ 'portcullis.api': 'reports', 'portcullis.kind': 'iam_token_project_scoped' },
  ...{ 'portcullis.allowed': false, 'portcullis.reason': 'TOKEN_KIND_NOT_ACCEPTED' },
  'portcullis.matrix.digest': digest,
}
const VERIFY = { name: 'verify', children: [] }
const CHECK = 'portcullis.v1.AuthorizationService/Check'
const checked = (attributes: object) => ({ name: 'check', attributes, children: [] })
const checkedToken = { name: 'check', attributes: ALLOWED, children: [VERIFY] }
const rpc = (method: string, system = 'grpc') => ({
  ...{ 'rpc.system.name': system, 'rpc.method': method, 'rpc.response.status_code': 'OK' },
  'client.address': '127.0.0.1',
})
const http = (method: string, route: string) => ({
  ...{ 'http.request.method': method, 'http.route': route, 'http.response.status_code': 200 },
  'client.address': '127.0.0.1',
})

/** A span with those below it, as far as they are named here. */
interface Expected {
  readonly name: string
  readonly attributes?: object
  readonly children: readonly Expected[]
}

/** A question with these header fields or metadata, and the span of it. */
interface Row extends Expected {
  readonly what: string
  readonly ask: (fields: Fields) => Promise<unknown>
}

const envoyAsks = { context: { api: 'balance' }, headers: [iam(people.account), ...Object.entries(canaries)] }
const EXT_AUTHZ = 'envoy.service.auth.v3.Authorization/Check'
const authzen = {
  ...{ action: { name: 'call' }, resource: { type: 'api', id: 'balance' } },
  subject: { type: 'credential', id: '-', properties: { headers: { 'X-Auth-Token': people.account } } },
}

const ROWS: readonly Row[] = [
  {
    what: 'a credential',
    ask: (fields) => box.ask('check', byToken, wishes(fields)),
    ...{ name: CHECK, attributes: { ...rpc(CHECK), ...ALLOWED }, children: [VERIFY] },
  },
  {
    what: 'claims, denied',
    ask: (fields) => box.ask('check', byClaims, wishes(fields)),
    ...{ name: CHECK, attributes: { ...rpc(CHECK), ...DENIED }, children: [] },
  },
  {
    what: 'a batch',
    ask: (fields) => askBatch(box, [byToken, byClaims], wishes(fields)),
    name: 'portcullis.v1.AuthorizationService/CheckBatch',
    attributes: { 'portcullis.decisions': 2 },
    children: [checkedToken, checked(DENIED)],
  },
  {
    what: 'a stream',
    ask: (fields) => askStream(box, [byToken, byClaims], wishes(fields)),
    name: 'portcullis.v1.AuthorizationService/CheckStream',
    attributes: { 'portcullis.decisions': 2, 'rpc.response.status_code': 'OK' },
    children: [checkedToken, checked(DENIED)],
  },
  {
    what: 'Connect',
    ask: (fields) =>
      post(
        `/${CHECK}`,
        { api: 'balance', credentials: { headers: [{ name: 'X-Auth-Token', value: people.account }] } },
        fields,
      ),
    ...{ name: CHECK, attributes: { ...rpc(CHECK, 'connectrpc'), ...ALLOWED }, children: [VERIFY] },
  },
  {
    what: 'gRPC-Web',
    ask: async (fields) => {
      const answer = await fetch(`http://127.0.0.1:${port}/${CHECK}`, {
        method: 'POST',
        headers: {
          ...{ 'content-type': 'application/grpc-web+proto', authorization: `Bearer ${ENVOY_TOKEN}` },
          ...fields,
        },
        // `api: balance` alone is a question without a credential.
        body: Buffer.concat([Buffer.from([0, 0, 0, 0, 9, 0x0a, 7]), Buffer.from('balance')]),
      })
      await answer.arrayBuffer()
    },
    ...{ name: CHECK, attributes: { 'rpc.system.name': 'grpc' }, children: [] },
  },
  {
    what: 'Envoy, in the metadata of its call',
    ask: (fields) => envoy.ask(envoyAsks, wishes(fields)),
    ...{ name: EXT_AUTHZ, attributes: { ...rpc(EXT_AUTHZ), ...ALLOWED }, children: [VERIFY] },
  },
  {
    what: 'Envoy, among the headers of the request',
    ask: (fields) =>
      envoy.ask({ ...envoyAsks, headers: [...envoyAsks.headers, ...Object.entries(fields)] }, wishes({})),
    ...{ name: EXT_AUTHZ, children: [VERIFY] },
  },
  {
    what: 'Envoy over HTTP',
    ask: (fields) =>
      get(`/ext-authz/api=balance/v1/${CANARY}?key=${CANARY}`, {
        ...{ ...asProxy, 'x-auth-token': people.account, ...fields },
      }),
    name: 'GET /ext-authz/*',
    attributes: { ...http('GET', '/ext-authz/*'), ...ALLOWED },
    children: [VERIFY],
  },
  {
    what: 'other proxies',
    ask: (fields) =>
      get(`/authorize/balance?key=${CANARY}`, { ...asProxy, 'x-auth-token': people.account, ...fields }),
    name: 'GET /authorize/:api',
    attributes: { ...http('GET', '/authorize/:api'), ...ALLOWED },
    children: [VERIFY],
  },
  {
    what: 'AuthZEN',
    ask: (fields) => post('/access/v1/evaluation', authzen, fields),
    name: 'POST /access/v1/evaluation',
    attributes: http('POST', '/access/v1/evaluation'),
    children: [checkedToken],
  },
  {
    what: 'the identity endpoint',
    ask: (fields) =>
      get('/identity/v3/auth/tokens', {
        ...{ 'x-auth-token': people.account, 'x-subject-token': people.account, ...fields },
      }),
    name: 'GET /identity/v3/auth/tokens',
    attributes: http('GET', '/identity/v3/auth/tokens'),
    children: [],
  },
  {
    what: 'egress',
    ask: async (fields) => {
      const { status } = await ask(running.sidecar.egressAddress ?? '', `/${CANARY}?key=${CANARY}`, {
        headers: { ...canaries, ...fields },
      })
      if (status !== 200) throw new Error(`the status ${status}`)
    },
    name: 'egress /',
    attributes: { 'http.request.method': 'GET', 'http.route': '/', 'portcullis.api': 'balance' },
    children: [
      {
        name: 'GET',
        attributes: { 'server.address': '127.0.0.1', 'http.response.status_code': 200 },
        children: [],
      },
    ],
  },
]

const SPAN_ID = '00f067aa0ba902b7'
const STATE = 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7'
/** Says which row asked, where the call belongs to a trace of its caller. */
const traceIdOf = (row: number) => `4bf92f3577b34da6a3ce9${(row + 1).toString(16).padStart(11, '0')}`

/** The trace fields of a caller, and the trace of the call; `undefined`: the call has no span. */
const CALLERS: readonly {
  readonly caller: string
  readonly fields: (traceId: string) => Fields
  readonly joined: 'caller' | 'new' | undefined
}[] = [
  {
    caller: 'records its trace',
    fields: (traceId) => ({ traceparent: `00-${traceId}-${SPAN_ID}-01`, tracestate: STATE }),
    joined: 'caller',
  },
  {
    caller: 'does not record its trace',
    fields: (traceId) => ({ traceparent: `00-${traceId}-${SPAN_ID}-00`, tracestate: STATE }),
    joined: undefined,
  },
  { caller: 'says nothing', fields: () => ({}), joined: 'new' },
  {
    caller: 'says something broken',
    fields: () => ({ traceparent: `00-${'0'.repeat(32)}-${SPAN_ID}-01`, tracestate: STATE }),
    joined: 'new',
  },
]

/** The spans of each row and caller, in the order of the questions. */
let spans: ReceivedSpan[] = []
const calls = ROWS.flatMap((row, index) => CALLERS.map((caller) => ({ row, index, ...caller })))
const began: bigint[] = []

test('the questions are asked', async () => {
  for (const { row, index, fields } of calls) {
    began.push(BigInt(Date.now()) * 1_000_000n)
    await row.ask(fields(traceIdOf(index)))
    // Clocks of spans and of this test differ by a millisecond at most.
    await passing(3)
  }
  began.push(BigInt(Date.now()) * 1_000_000n + 1_000_000_000n)
  await running.sidecar.close()
  spans = spansAt(endpoint)
})

test.each(calls.map((call, at) => ({ ...call, at, what: call.row.what })))(
  '$what: a caller that $caller',
  ({ row, index, joined, at }) => {
    const own = spans.filter(
      ({ startNs }) =>
        startNs >= (began[at] ?? 0n) - 1_000_000n && startNs < (began[at + 1] ?? 0n) - 1_000_000n,
    )
    const entries = own.filter(({ kind }) => kind === 'server')
    if (joined === undefined) {
      expect(own).toEqual([])
      return
    }
    expect(entries).toHaveLength(1)
    const [entry] = entries as [ReceivedSpan]
    if (joined === 'caller')
      expect(entry).toMatchObject({
        ...{ traceId: traceIdOf(index), parentSpanId: SPAN_ID, traceState: STATE },
      })
    else {
      expect(entry.traceId).not.toBe(traceIdOf(index))
      expect([entry.parentSpanId, entry.traceState]).toEqual([undefined, undefined])
    }
    expect(own.filter(({ failed }) => failed)).toEqual([])
    expectTree(own, entry, row)
  },
)

function expectTree(all: readonly ReceivedSpan[], span: ReceivedSpan, expected: Expected): void {
  expect(span).toMatchObject({ name: expected.name, attributes: expected.attributes ?? {} })
  const below = all.filter(({ parentSpanId }) => parentSpanId === span.spanId)
  for (const child of below) {
    expect(child.traceId).toBe(span.traceId)
    expect(child.startNs >= span.startNs && child.endNs <= span.endNs).toBe(true)
  }
  // The directory is asked where nothing is remembered.
  const named = below.filter(({ name }) => !name.startsWith('sqlite '))
  expect(named.map(({ name }) => name)).toEqual(expected.children.map(({ name }) => name))
  for (const [index, child] of expected.children.entries())
    expectTree(all, named[index] as ReceivedSpan, child)
}

test('no exported byte is of a secret, or of what clients send beside the credential', () => {
  expect(endpoint.received.length).toBeGreaterThan(0)
  for (const { path, headers, body } of endpoint.received) {
    expect(path).toBe('/v1/traces')
    expect(headers.authorization).toBe(AUTHORIZATION)
    for (const secret of secrets) {
      expect(body).not.toContain(secret)
      expect(body).not.toContain(secret.slice(-24))
    }
  }
})

test('the request to a target carries the trace on', () => {
  const byRow = calls.flatMap((call) => (call.row.what === 'egress' ? [call] : []))
  expect(target.received).toHaveLength(byRow.length)
  for (const [at, { joined, index, fields }] of byRow.entries()) {
    const { traceparent, tracestate } = target.received[at]?.headers ?? {}
    if (joined === undefined) {
      expect({ traceparent, tracestate }).toEqual(fields(traceIdOf(index)))
      continue
    }
    const [, traceId, spanId, flags] = String(traceparent).split('-')
    const sent = spans.find((span) => span.spanId === spanId)
    expect(sent).toMatchObject({ name: 'GET', kind: 'client', traceId })
    expect(flags).toBe('01')
    expect(tracestate).toBe(joined === 'caller' ? STATE : undefined)
  }
})
