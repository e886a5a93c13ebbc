/** The rows of gRPC that no client of the contract would send, and those of Envoy. */
import { connect as connectHttp2 } from 'node:http2'
import { BlackBox } from '../support/contract/black-box.ts'
import { enveloped } from '../support/contract/contract.ts'
import { checkRequest, extAuthzService } from '../support/proxies/ext-authz.ts'
import { type Row, settled } from './rows.ts'
import { ASKED, CANARY, type Stage } from './stage.ts'

type Headers = Readonly<Record<string, string>>

const METHOD = '/portcullis.v1.AuthorizationService/Check'

/** Requests that no client of gRPC would send. */
const RAW: readonly (readonly [what: string, headers: Headers, body: (stage: Stage) => Buffer])[] = [
  ['bytes that are no message', {}, (at) => enveloped(Buffer.from(`\u0000${CANARY}${at.token}`))],
  ['a message that is cut off', {}, (at) => enveloped(Buffer.from(at.token)).subarray(0, -9)],
  ['a message that is too long', {}, () => enveloped(Buffer.from(CANARY.repeat(3_000)))],
  ['a compressed message that is none', { 'grpc-encoding': 'gzip' }, () => enveloped(CANARY, 1)],
  ['two messages', {}, () => Buffer.concat([enveloped(CANARY), enveloped(CANARY)])],
  [
    'a secret as the method',
    { ':path': `/portcullis.v1.AuthorizationService/${CANARY}` },
    () => enveloped(''),
  ],
  ['a secret in the query', { ':path': `${METHOD}?token=${CANARY}` }, () => enveloped('')],
  ['a secret as the content type', { 'content-type': `application/${CANARY}` }, () => enveloped('')],
  ['a secret as the timeout', { 'grpc-timeout': CANARY }, () => enveloped('')],
  ['a secret as the encoding', { 'grpc-encoding': CANARY }, () => enveloped('')],
  ['a secret as the name of the host', { ':authority': `user:${CANARY}@host` }, () => enveloped('')],
  ['binary metadata that is none', { 'a-bin': `!${CANARY}é` }, () => enveloped('')],
  ['a caller token that is no text', { authorization: `Bearer ${CANARY}é` }, () => enveloped('')],
  ['a header larger than all may be', { cookie: CANARY.repeat(2_000) }, () => enveloped('')],
  [
    'a health check of a secret',
    { ':path': '/grpc.health.v1.Health/Check' },
    () => enveloped(Buffer.concat([Buffer.from([10, CANARY.length]), Buffer.from(CANARY)])),
  ],
  [
    'reflection of a secret',
    { ':path': '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo' },
    () => enveloped(Buffer.concat([Buffer.from([34, CANARY.length]), Buffer.from(CANARY)])),
  ],
]

/** Answers that repeat what was asked for, to the client that asked. */
const REPEATED: Readonly<Record<string, Row['rightly']>> = {
  'reflection of a secret': {
    secrets: ['canary'],
    because: 'the protocol of reflection repeats the request',
  },
  'a secret as the method': { secrets: ['canary'], on: 'grpc-js', because: 'grpc-js names the method' },
  'a secret as the timeout': { secrets: ['canary'], on: 'grpc-js', because: 'grpc-js names the value' },
  'a secret in the query': { secrets: ['canary'], on: 'grpc-js', because: 'grpc-js names the method' },
}

export const RAW_ROWS: readonly Row[] = RAW.map(([what, headers, body]) => ({
  what: `HTTP/2: ${what}`,
  ask: (stage) => rawCall(stage.running.address, headers, body(stage)),
  rightly: REPEATED[what],
}))

function rawCall(address: string, headers: Headers, body: Buffer): Promise<unknown> {
  const session = connectHttp2(`http://${address}`)
  const received: unknown[] = []
  session.on('error', (error) => received.push(error.message))
  const usual = { ':method': 'POST', ':path': METHOD, 'content-type': 'application/grpc', te: 'trailers' }
  const request = session.request({ ...usual, ...headers })
  for (const event of ['response', 'trailers', 'data']) request.on(event, (part) => received.push(part))
  request.on('error', () => {})
  request.end(body)
  return new Promise((resolve) =>
    request.on('close', () => {
      session.close()
      resolve(received)
    }),
  )
}

const ENVOY: readonly (readonly [
  what: string,
  request: (stage: Stage) => Parameters<typeof checkRequest>[0],
])[] = [
  ['a genuine token', (at) => ({ headers: [['x-auth-token', at.token]], path: '/items/1' })],
  [
    'secrets everywhere',
    (at) => ({
      headers: [
        ['x-auth-token', `${at.token}x`],
        ['cookie', CANARY],
        ['x-request-id', CANARY],
        [CANARY.toLowerCase(), 'a'],
      ],
      path: `/items/${CANARY}?token=${CANARY}`,
      host: `user:${CANARY}@host`,
      method: CANARY,
    }),
  ],
  [
    'raw headers',
    () => ({
      raw: true,
      headers: [
        ['x-auth-token', `${CANARY}\u0000`],
        ['x-token', CANARY],
      ],
      path: '/items/1',
    }),
  ],
  ['a path without a route', () => ({ path: `/${CANARY}` })],
  ['a secret as a setting of the route', () => ({ context: { api: ASKED, [CANARY]: CANARY } })],
  ['a secret as the profile', () => ({ context: { api: 'balance', profile: CANARY } })],
  ['a secret as the address', () => ({ context: { api: 'balance' }, from: CANARY })],
]

export const ENVOY_ROWS: readonly Row[] = [
  ...ENVOY.map(
    ([what, request]): Row => ({
      what: `ext_authz over gRPC: ${what}`,
      ask: (stage) => {
        const box = new BlackBox(stage.running.address, extAuthzService)
        return settled(box.ask('check', checkRequest(request(stage))))
      },
    }),
  ),
  {
    what: 'ext_authz over gRPC: bytes that are no message',
    ask: ({ running }) =>
      settled(new BlackBox(running.address, extAuthzService).ask('check', Buffer.from(`\u000f${CANARY}`))),
  },
]
