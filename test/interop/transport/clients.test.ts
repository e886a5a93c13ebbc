/** Every client, every kind of call: one table of scenarios. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type AdministeredDemo, serveAdministeredDemo } from '../../support/interop/administered-demo.ts'
import { type Ask, type Row, type RunningClient, startClient } from '../../support/interop/client.ts'
import { interopFolder } from '../../support/interop/command.ts'
import { type Envoy, installEnvoy, startEnvoy } from '../../support/interop/envoy.ts'
import { startGrpcurl } from '../../support/interop/grpcurl.ts'
import { refusalOf, responseOf } from '../../support/interop/interop-rows.ts'
import { installJava, installRust, PROTO_FLAGS } from '../../support/interop/native.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { cells, scopeFor } from '../../support/matrices/oracle.ts'

/** Few, so that a call that was left and not ended would keep others waiting. */
const STREAMS_MAX = 4

const MEGABYTE = 2 ** 20

/** An ability that a client may lack, so that its scenario is left out. */
type Ability = 'compression'

interface Candidate {
  readonly client: string
  /** Why it is missing. */
  readonly missing: string | undefined
  readonly start: (address: string) => RunningClient | Promise<RunningClient>
  readonly cannot?: readonly Ability[]
}

const [java, rust, envoy] = await Promise.all([
  obtained('grpc-java', installJava),
  obtained('tonic', installRust),
  obtained('Envoy', installEnvoy),
])
const [go, python, grpcurl] = [inject('go'), inject('python'), inject('grpcurl')]

const program = (command: readonly string[]) => (address: string) =>
  startClient({ ok: true, command, env: {} }, address)
const reasonOf = (outcome: { readonly ok: true } | { readonly ok: false; readonly why: string }) =>
  outcome.ok ? undefined : outcome.why

const CANDIDATES: readonly Candidate[] = [
  { client: 'grpc-go', missing: reasonOf(go), start: (address) => startClient(go, address) },
  { client: 'grpcio', missing: reasonOf(python), start: (address) => startClient(python, address) },
  { client: 'grpc-java', missing: reasonOf(java), start: program(java.ok ? java.value : []) },
  { client: 'tonic', missing: reasonOf(rust), start: program(rust.ok ? rust.value : []) },
  {
    client: 'grpc-js',
    missing: undefined,
    start: program([process.execPath, join(interopFolder, 'node', 'client.ts'), ...PROTO_FLAGS]),
  },
  {
    client: 'grpcurl',
    missing: reasonOf(grpcurl),
    start: (address) => startGrpcurl(grpcurl.ok ? (grpcurl.command[0] ?? '') : '', address),
    cannot: ['compression'],
  },
  {
    client: 'Envoy, with grpc-go before it',
    missing: reasonOf(envoy) ?? reasonOf(go),
    start: async (address) => behind(await startEnvoy(envoy.ok ? envoy.value : '', address)),
  },
]

/** A client that reaches the sidecar through Envoy. */
function behind(proxy: Envoy): RunningClient {
  const client = startClient(go, proxy.address)
  return {
    ask: client.ask,
    stop: async () => {
      await client.stop()
      await proxy.stop()
    },
  }
}

interface Scenario {
  readonly what: string
  readonly needs?: Ability
  readonly run: (ask: Ask, administratorToken: string) => Promise<void>
}

const call = (method: string, ...requests: readonly object[]): Row => ({
  call: `AuthorizationService/${method}`,
  requests,
})
const CHECK = call('Check', { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } })
const WATCH = call('WatchMatrix', {})

async function answered(ask: Ask): Promise<void> {
  expect(responseOf(await ask(CHECK))).toMatchObject({ allowed: true, reason: 'REASON_ALLOWED' })
}

const withHeader = (bytes: number) =>
  call('Check', { api: 'balance', credentials: { headers: [{ name: 'X-Other', value: 'x'.repeat(bytes) }] } })

const SCENARIOS: readonly Scenario[] = [
  { what: 'a unary call', run: answered },
  {
    what: 'a stream of answers, of which one is read',
    run: async (ask) => {
      const { matrix } = responseOf(await ask({ ...WATCH, responses_max: 1 }))
      expect(matrix).toEqual(responseOf(await ask(call('GetMatrix', {}))).matrix)
    },
  },
  {
    what: 'a stream of questions and answers, in order',
    run: async (ask) => {
      const requests = cells().map(({ api, kind }, index) => ({
        id: `question ${index}`,
        check: { api, token: { kind, scope: scopeFor(kind) } },
      }))
      const { responses, error } = await ask(call('CheckStream', ...requests))
      expect(error).toBeUndefined()
      expect(responses).toMatchObject(
        cells().map(({ accepted }, index) => ({ id: `question ${index}`, result: { allowed: accepted } })),
      )
      expect(responses).toHaveLength(requests.length)
    },
  },
  {
    what: 'a stream of no question',
    run: async (ask) => expect(await ask(call('CheckStream'))).toEqual({ responses: [] }),
  },
  {
    what: 'a deadline that passes',
    run: async (ask) => {
      expect((await ask({ ...WATCH, deadline_ms: 500 })).error?.code).toBe('DEADLINE_EXCEEDED')
      await answered(ask)
    },
  },
  {
    what: 'calls that are left: none of them takes the place of a later one',
    run: async (ask) => {
      for (let left = 0; left < 3 * STREAMS_MAX; left++)
        expect((await ask({ ...WATCH, responses_max: 1 })).responses).toHaveLength(1)
      await answered(ask)
    },
  },
  {
    what: 'metadata, binary metadata too',
    run: async (ask, administratorToken) => {
      const revoke = call('Revoke', { token_id: 'A'.repeat(22) })
      const others = {
        'x-request-id': 'a value, with: punctuation',
        'x-long': 'v'.repeat(4000),
        'x-trace-bin': Buffer.from([0, 1, 2, 0xff, 0x80, 0x2c]).toString('base64'),
        'x-long-bin': Buffer.alloc(1001, 0xfe).toString('base64'),
      }
      expect((await ask({ ...revoke, metadata: others })).error).toMatchObject({
        code: 'UNAUTHENTICATED',
        // The character at the end must be coded on the way.
        message: expect.stringMatching(/needs a caller token: `authorization: Bearer …`$/),
      })
      const known = { ...others, authorization: `Bearer ${administratorToken}` }
      expect((await ask({ ...revoke, metadata: known })).error).not.toMatchObject({ code: 'UNAUTHENTICATED' })
    },
  },
  {
    what: 'errors with details',
    run: async (ask) => {
      const token = { kind: 'static_token' }
      expect(refusalOf(await ask(call('CheckBatch', { checks: [{ token }, { api: 'iam' }] })))).toEqual({
        code: 'INVALID_ARGUMENT',
        reason: 'INVALID_ARGUMENT',
        domain: 'portcullis',
        fields: ['checks[0].api'],
      })
    },
  },
  {
    what: 'an error in the middle of a stream, after the answers before it',
    run: async (ask) => {
      const good = { id: 'good', check: CHECK.requests[0] }
      const { responses, error } = await ask(call('CheckStream', good, good, { id: 'bad' }))
      expect(responses).toHaveLength(2)
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: 'check: expected a check' })
    },
  },
  {
    what: 'a request of 4 MB less a little',
    run: async (ask) => {
      const denied = { allowed: false, reason: 'REASON_CREDENTIAL_MISSING' }
      expect(responseOf(await ask(withHeader(4 * MEGABYTE - 1000)))).toMatchObject(denied)
    },
  },
  {
    what: 'a request beyond the limit, and another call after it',
    run: async (ask) => {
      expect((await ask(withHeader(4 * MEGABYTE))).error?.code).toBe('RESOURCE_EXHAUSTED')
      await answered(ask)
    },
  },
  {
    what: 'large messages in both directions: 1, 2, 3 MB and nearly 4',
    run: async (ask) => {
      const sizes = [1, 2, 3, 3.99].map((megabytes) => Math.floor(megabytes * MEGABYTE))
      const requests = sizes.map((size, index) => ({
        id: `${index}`.padEnd(size, 'x'),
        check: CHECK.requests[0],
      }))
      const { responses, error } = await ask(call('CheckStream', ...requests))
      expect(error).toBeUndefined()
      expect(responses.map(({ id }) => [id[0], id.length])).toEqual(
        sizes.map((size, index) => [`${index}`, size]),
      )
    },
  },
  {
    what: 'compressed requests',
    needs: 'compression',
    run: async (ask) => {
      const question = { id: 'q'.repeat(100_000), check: CHECK.requests[0] }
      const { responses } = await ask({
        ...call('CheckStream', question, question),
        compression: 'gzip',
      })
      expect(responses.map(({ id }) => id)).toEqual([question.id, question.id])
    },
  },
  {
    what: 'the health of the services',
    run: async (ask) => {
      const health: Row = { call: 'Health/Check', requests: [{}] }
      expect(responseOf(await ask(health))).toEqual({ status: 'SERVING' })
      expect(responseOf(await ask({ call: 'Health/Watch', requests: [{}], responses_max: 1 }))).toEqual({
        status: 'SERVING',
      })
      expect((await ask({ ...health, requests: [{ service: 'nosuch' }] })).error?.code).toBe('NOT_FOUND')
    },
  },
]

let sidecar: AdministeredDemo
beforeAll(async () => {
  sidecar = await serveAdministeredDemo({
    environment: { PORTCULLIS_GRPC_MAX_CONCURRENT_STREAMS: String(STREAMS_MAX) },
  })
})
afterAll(() => sidecar?.stop())

for (const candidate of CANDIDATES) testClient(candidate, () => sidecar)

function testClient(
  { client, missing, start, cannot = [] }: Candidate,
  sidecar: () => AdministeredDemo,
): void {
  describe.skipIf(missing !== undefined)(client, () => {
    let running: RunningClient
    beforeAll(async () => {
      running = await start(sidecar().ready.grpc)
    })
    afterAll(() => running?.stop())

    for (const { what, needs, run } of SCENARIOS)
      if (needs === undefined || !cannot.includes(needs))
        test(what, () => run((...question) => running.ask(...question), sidecar().administratorToken))
  })
}
