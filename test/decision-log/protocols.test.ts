/**
 * Every decision of every protocol has a line. It says who asked, what and why, without a secret, and metrics
 * count it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import type { Metric } from '../../sidecar/base/metrics.ts'
import { askBatch, askStream, credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { askAt } from '../support/identity/identity.ts'
import { ENVOY_TOKEN, iam, ofPanel, peopleBehindEnvoy } from '../support/proxies/behind-envoy.ts'
import { EnvoyClient } from '../support/proxies/ext-authz.ts'
import { PROXY_SECRET } from '../support/proxies/proxied.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { type LoggedLine, linesIn } from '../support/signals/decision-log.ts'
import { newFolder } from '../support/suite/resources.ts'

const { digest } = compile(supportMatrix, {})
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`
const people = await peopleBehindEnvoy()
/** The values that clients send beside the credential. */
const CANARY = 'canary-7f3a'
const canaries = {
  ...{ cookie: `session=${CANARY}`, 'user-agent': CANARY, 'x-forwarded-user': CANARY },
  ...{ 'x-subject-token': CANARY, tracestate: `a=${CANARY}`, baggage: `a=${CANARY}` },
}
const secrets = [
  CANARY,
  ...[people.account, people.project, people.staticToken, people.revoked, people.restricted],
  ...[ENVOY_TOKEN, PROXY_SECRET],
]
const path = join(newFolder(), 'decisions.log')
const running = await people.run({
  ...{ 'http.address': '127.0.0.1:0', 'http.authzen': true, 'http.connect': true },
  ...{ 'decision_log.file.path': path, 'health.address': '127.0.0.1:0' },
})
const port = Number(running.sidecar.httpAddress?.split(':').at(-1))
const box = new BlackBox(running.address)
const envoy = new EnvoyClient(running.address)
const REQUEST_ID = 'req-3f2504e0-4f89-41d3-9a0c-0305e82c3301'
/** In the headers of the client's request, as Envoy puts it there. */
const ENVOYS_ID = '7f2504e0-4f89-41d3-9a0c-0305e82c3302'
const ids = { traceparent: TRACEPARENT, 'x-request-id': REQUEST_ID }
const wishes = { callerToken: ENVOY_TOKEN, metadata: { ...canaries, ...ids } }
const asProxy = {
  'x-portcullis-proxy-secret': PROXY_SECRET,
  host: 'api.example',
  ...canaries,
  ...ids,
}
const byToken = credentialQuestion('balance', 'X-Auth-Token', people.account)
const byClaims = {
  api: 'reports',
  token: { kind: 'iam_token_project_scoped', scope: { account: ACCOUNT, project: 'alpha' } },
  target: { account: '99' },
}

/** A question, and the lines that follow it. A member that is not named may have any value. */
interface Row {
  readonly protocol: string
  readonly ask: () => Promise<unknown>
  readonly lines: readonly Partial<LoggedLine>[]
}

const SUBJECT = { id: expect.stringMatching(/./), type: 'service_user', account: ACCOUNT }
const allowed: Partial<LoggedLine> = {
  ...{ asked: 'credentials', api: 'balance', kind: 'iam_token_account_scoped', allowed: true },
  ...{ reason: 'ALLOWED', scope: { account: ACCOUNT }, subject: SUBJECT, header: 'x-auth-token' },
}
const claims: Partial<LoggedLine> = {
  ...{ asked: 'claims', api: 'reports', kind: 'iam_token_project_scoped', allowed: false },
  ...{
    reason: 'TOKEN_KIND_NOT_ACCEPTED',
    scope: { account: ACCOUNT, project: 'alpha' },
    target: { account: '99' },
  },
  latency_us: 0,
}
const denied = (reason: LoggedLine['reason']): Partial<LoggedLine> => ({
  asked: 'credentials',
  allowed: false,
  reason,
})

const HEADER = { name: 'X-Auth-Token', value: people.account }
const LOGGED_IDS = { trace_id: TRACE_ID, request_id: REQUEST_ID }
const byHttp = { caller: { address: '127.0.0.1', name: 'envoy' }, ...LOGGED_IDS }
const post = async (to: string, body: object) => {
  const headers = {
    ...{ 'content-type': 'application/json', ...ids, ...canaries },
    authorization: `Bearer ${ENVOY_TOKEN}`,
  }
  const answer = await askAt(port, { method: 'POST', path: to, headers, body })
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`)
}

const ROWS: readonly Row[] = [
  {
    protocol: 'grpc',
    ask: async () => {
      await box.ask('check', byToken, wishes)
      await box.ask('check', byClaims, wishes)
    },
    lines: [allowed, claims].map((line) => ({
      ...line,
      caller: { address: '127.0.0.1', name: 'envoy' },
      ...LOGGED_IDS,
    })),
  },
  {
    protocol: 'grpc',
    ask: async () => {
      for (const [header, value] of [ofPanel('forged'), iam(people.revoked), iam(people.restricted)])
        await box.ask('check', {
          ...credentialQuestion('balance', header, value),
          client_address: '192.0.2.9',
        })
      await box.ask('check', {
        api: 'balance',
        credentials: {
          headers: [['X-Token', people.account], ...Object.entries(canaries)].map(([name, value]) => ({
            name,
            value,
          })),
        },
      })
      await box.ask('check', credentialQuestion('nosuch', 'X-Token', people.account))
      await box.ask('check', { api: 'balance', credentials: { headers: [] } })
    },
    lines: [
      { ...denied('CREDENTIAL_INVALID'), header: 'x-token', client_address: '192.0.2.9' },
      { ...denied('CREDENTIAL_REVOKED'), kind: 'iam_token_account_scoped', subject: SUBJECT },
      { ...denied('ADDRESS_NOT_ALLOWED'), client_address: '192.0.2.9' },
      { ...denied('WRONG_HEADER'), form: 'issue', header: 'x-token' },
      { ...denied('UNKNOWN_API'), api: 'nosuch' },
      { ...denied('CREDENTIAL_MISSING'), api: 'balance' },
    ],
  },
  {
    protocol: 'grpc-batch',
    ask: () => askBatch(box, [byToken, byClaims, byToken]),
    lines: [allowed, claims, allowed],
  },
  { protocol: 'grpc-stream', ask: () => askStream(box, [byClaims, byToken]), lines: [claims, allowed] },
  {
    protocol: 'ext_authz',
    ask: async () => {
      const asked = {
        context: { api: 'balance', account: ACCOUNT },
        headers: [
          iam(people.account),
          ['x-request-id', ENVOYS_ID] as [string, string],
          ...Object.entries(canaries),
        ],
      }
      await envoy.ask({ ...asked, from: '203.0.113.7' }, wishes)
      await envoy.ask({ context: { api: 'balance' }, headers: [] })
    },
    lines: [
      {
        ...{ ...allowed, target: { account: ACCOUNT }, client_address: '203.0.113.7', ...LOGGED_IDS },
        request_id: ENVOYS_ID,
        caller: { address: '127.0.0.1', name: 'envoy' },
      },
      { ...denied('CREDENTIAL_MISSING'), caller: { address: '127.0.0.1' } },
    ],
  },
  {
    protocol: 'ext_authz',
    ask: () =>
      envoy.ask(
        {
          context: {
            ...{ api: 'balance', account: ACCOUNT },
            credential_profile: 'gateway',
            credential_api: 'cdn',
            credential_project: 'alpha',
          },
          headers: [iam(people.account)],
        },
        wishes,
      ),
    lines: [allowed, { asked: 'own_token', api: 'cdn', kind: 'iam_token_project_scoped', allowed: true }],
  },
  {
    protocol: 'ext_authz-http',
    ask: () =>
      askAt(port, {
        method: 'GET',
        path: `/ext-authz/api=balance/v1/${CANARY}?key=${CANARY}`,
        headers: {
          ...{ ...asProxy, 'x-auth-token': people.account },
          'proxy-authorization': `Bearer ${ENVOY_TOKEN}`,
        },
      }),
    lines: [{ ...allowed, ...LOGGED_IDS, caller: { address: '127.0.0.1', name: 'envoy' } }],
  },
  {
    protocol: 'authorize',
    ask: () =>
      askAt(port, {
        method: 'GET',
        path: `/authorize/balance?key=${CANARY}`,
        headers: { ...asProxy, 'x-auth-token': people.account },
      }),
    lines: [{ ...allowed, ...LOGGED_IDS, caller: { address: '127.0.0.1' } }],
  },
  {
    protocol: 'connect',
    ask: async () => {
      const asked = { ...byClaims, target: { account: '99' } }
      for (const body of [{ api: 'balance', credentials: { headers: [HEADER] } }, asked])
        await post('/portcullis.v1.AuthorizationService/Check', body)
    },
    lines: [allowed, claims].map((line) => ({ ...line, ...byHttp })),
  },
  {
    protocol: 'authzen',
    ask: async () => {
      const question = { action: { name: 'call' }, resource: { type: 'api', id: 'balance' } }
      const subject = {
        type: 'credential',
        id: '-',
        properties: { headers: { 'X-Auth-Token': people.account } },
      }
      const kind = { type: 'token', id: 'static_token' }
      const evaluations = [{}, { subject: kind }, { subject: { ...kind, properties: { account: ACCOUNT } } }]
      await post('/access/v1/evaluations', { ...question, subject, evaluations })
      // A search enforces nothing, and neither does a question about nothing that the matrix has.
      await post('/access/v1/search/resource', { ...question, subject, resource: { type: 'api' } })
      await post('/access/v1/evaluation', { ...question, subject, resource: { type: 'door', id: '1' } })
    },
    lines: [
      allowed,
      { asked: 'kind', api: 'balance', kind: 'static_token', allowed: true },
      { asked: 'claims', api: 'balance', kind: 'static_token', scope: { account: ACCOUNT }, allowed: true },
    ].map((line) => ({ ...line, ...byHttp }) as Partial<LoggedLine>),
  },
]

let counted: Metric | undefined

test('every decision of every protocol has its line, in order, and no line has a secret', async () => {
  for (const { ask } of ROWS) await ask()
  const before = Date.now()
  counted = running.sidecar.metrics().find(({ name }) => name === 'portcullis_decisions_total')
  await running.sidecar.close()
  const lines = linesIn(path)
  const expected = ROWS.flatMap(({ protocol, lines: rows }) => rows.map((row) => ({ protocol, ...row })))
  expect(lines).toMatchObject(expected)
  for (const { time, matrix, strict } of lines) {
    expect(Math.abs(Date.parse(time) - before)).toBeLessThan(100_000)
    expect({ matrix, strict }).toEqual({ matrix: digest, strict: false })
  }

  const text = readFileSync(path, 'latin1')
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
  // Nor a part of one: what signs an IAM token, and what a static token is beside its prefix.
  for (const secret of secrets) expect(text).not.toContain(secret.slice(-24))
  expect(readdirSync(running.folder)).toContain('static-token-pepper')
})

test('metrics count the decisions that have lines, and no others', () => {
  // The contract over HTTP counts as gRPC.
  const logged = linesIn(path).map(({ protocol, api, reason }) =>
    [protocol.replace('connect', 'grpc'), reason === 'UNKNOWN_API' ? 'unknown' : api, reason].join(' '),
  )
  const samples = counted?.samples.flatMap(({ labels, value }) =>
    Array<string>(value).fill([labels.protocol, labels.api, labels.reason].join(' ')),
  )
  expect(samples?.toSorted()).toEqual(logged.toSorted())
})

test('equal tokens have equal fingerprints, and others have others', () => {
  const known = linesIn(path).filter(({ token }) => token !== undefined)
  const byToken = Map.groupBy(known, ({ token }) => token)
  // The account's token in both headers, a forged, a revoked and a restricted one.
  expect(byToken.size).toBe(4)
})
