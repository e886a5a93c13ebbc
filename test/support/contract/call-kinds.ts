/** Kinds of calls: what clients ask, and what no client should. */
import { gzipSync } from 'node:zlib'
import { messageFrame } from '../http2/frames.ts'
import { messageType } from './black-box.ts'

/** What the servers allow. */
export const MESSAGE_BYTES_MAX = 65_536

/** Numbers from 0 to 1. */
export type Random = () => number

export const below = (random: Random, limit: number) => Math.floor(random() * limit)
export const oneOf = <T>(random: Random, values: readonly T[]): T => values[below(random, values.length)] as T

const encoded = (type: string, value: object) => messageType(type).serialize(value)
const CLAIMS = { kind: 'static_token', scope: { account: '1' } }
const CHECKS = [
  { api: 'balance', token: CLAIMS },
  { api: 'iam', token: CLAIMS },
  { api: 'nosuch', token: CLAIMS },
  { api: 'audit-logs', token: { kind: 'iam_token_project_scoped', scope: { account: '1', project: 'p' } } },
  { api: 'balance', token: CLAIMS, target: { account: '2' } },
  { api: 'balance', credentials: { headers: [{ name: 'X-Token', value: 'nobody' }] } },
]
const BAD_CHECKS = [{}, { api: 'balance' }, { api: 'balance', token: CLAIMS, target: { account: '' } }]

/** One call of a kind. */
export interface Plan {
  readonly what: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly messages: readonly Buffer[]
  readonly end?: 'end' | 'open' | 'reset'
  readonly messagesMax?: number
}

const check = (random: Random) => encoded('CheckRequest', oneOf(random, CHECKS))
const streamed = (random: Random, id = `q${below(random, 100)}`) =>
  encoded('CheckStreamRequest', { id: id.padEnd(below(random, 300)), check: oneOf(random, CHECKS) })

/** Every kind of call. */
export const PLANS: readonly ((random: Random) => Plan)[] = [
  (random) => ({ what: 'a check', messages: [messageFrame(check(random))] }),
  (random) => ({
    what: 'a check that is not complete',
    messages: [messageFrame(encoded('CheckRequest', oneOf(random, BAD_CHECKS)))],
  }),
  (random) => ({
    what: 'a batch',
    path: 'CheckBatch',
    messages: [
      messageFrame(
        encoded('CheckBatchRequest', {
          checks: Array.from({ length: below(random, 100) }, () => oneOf(random, CHECKS)),
        }),
      ),
    ],
  }),
  () => ({ what: 'the matrix', path: 'GetMatrix', messages: [messageFrame(Buffer.alloc(0))] }),
  (random) => ({
    what: 'a stream',
    path: 'CheckStream',
    messages: Array.from({ length: below(random, 30) }, () => messageFrame(streamed(random))),
  }),
  (random) => ({
    what: 'a stream with an error in it',
    path: 'CheckStream',
    messages: [
      ...Array.from({ length: below(random, 8) }, () => messageFrame(streamed(random))),
      messageFrame(encoded('CheckStreamRequest', { id: 'bad' })),
      messageFrame(streamed(random)),
    ],
  }),
  (random) => ({
    what: 'a stream of large messages',
    path: 'CheckStream',
    messages: Array.from({ length: 3 }, (_, index) =>
      messageFrame(streamed(random, `${index}`.padEnd(40_000, 'x'))),
    ),
  }),
  (random) => ({
    what: 'a stream that is reset',
    path: 'CheckStream',
    messages: Array.from({ length: below(random, 5) }, () => messageFrame(streamed(random))),
    end: 'reset',
  }),
  () => ({
    what: 'a watch that is left',
    path: 'WatchMatrix',
    messages: [messageFrame(Buffer.alloc(0))],
    messagesMax: 1,
  }),
  () => ({
    what: 'a watch until its deadline',
    path: 'WatchMatrix',
    headers: { 'grpc-timeout': '400m' },
    messages: [messageFrame(Buffer.alloc(0))],
  }),
  () => ({
    what: 'a stream until its deadline',
    path: 'CheckStream',
    headers: { 'grpc-timeout': '60m' },
    messages: [],
    end: 'open',
  }),
  (random) => ({
    what: 'bytes that are no message',
    messages: [messageFrame(Buffer.from(Array.from({ length: 1 + below(random, 30) }, () => 0xff)))],
  }),
  (random) => ({
    what: 'random bytes',
    messages: [
      messageFrame(Buffer.from(Array.from({ length: below(random, 60) }, () => below(random, 256)))),
    ],
  }),
  (random) => ({
    what: 'a compressed check',
    headers: { 'grpc-encoding': 'gzip' },
    messages: [messageFrame(gzipSync(check(random)), 1)],
  }),
  (random) => ({
    what: 'compressed and other messages of a stream',
    path: 'CheckStream',
    headers: { 'grpc-encoding': 'gzip' },
    messages: Array.from({ length: 1 + below(random, 6) }, () =>
      random() < 0.5 ? messageFrame(gzipSync(streamed(random)), 1) : messageFrame(streamed(random)),
    ),
  }),
  (random) => ({
    what: 'a compressed message that is damaged',
    headers: { 'grpc-encoding': 'gzip' },
    messages: [messageFrame(gzipSync(check(random)).subarray(0, 12), 1)],
  }),
  () => ({
    what: 'a compressed message that grows beyond the limit',
    headers: { 'grpc-encoding': 'gzip' },
    messages: [messageFrame(gzipSync(Buffer.alloc(4 * MESSAGE_BYTES_MAX)), 1)],
  }),
  (random) => ({
    what: 'an unknown encoding',
    headers: { 'grpc-encoding': 'br' },
    messages: [messageFrame(check(random), 1)],
  }),
  () => ({
    what: 'a message beyond the limit',
    messages: [messageFrame(Buffer.alloc(MESSAGE_BYTES_MAX + 1))],
  }),
  () => ({ what: 'a message of the largest size', messages: [messageFrame(largest())] }),
  (random) => ({
    what: 'two messages',
    messages: [messageFrame(check(random)), messageFrame(check(random))],
  }),
  () => ({ what: 'no message', messages: [] }),
  (random) => ({ what: 'an unknown method', path: 'Nosuch', messages: [messageFrame(check(random))] }),
  (random) => ({
    what: 'an unknown service',
    path: '/nosuch.Service/Check',
    messages: [messageFrame(check(random))],
  }),
  (random) => ({
    what: 'metadata',
    headers: { 'x-one': 'two', 'x-trace-bin': 'AAEC/w', 'x-long': 'v'.repeat(below(random, 3000)) },
    messages: [messageFrame(check(random))],
  }),
  (random) => ({
    what: 'a deadline that is not reached',
    headers: { 'grpc-timeout': oneOf(random, ['1H', '99999999S', '10M', '20000000u']) },
    messages: [messageFrame(check(random))],
  }),
  (random) => ({
    what: 'another content type',
    headers: { 'content-type': oneOf(random, ['text/plain', 'application/json']) },
    messages: [messageFrame(check(random))],
  }),
  (random) => ({
    what: 'the content type with its codec',
    headers: { 'content-type': 'application/grpc+proto' },
    messages: [messageFrame(check(random))],
  }),
  () => ({
    what: 'a revocation without a credential',
    path: 'Revoke',
    messages: [messageFrame(encoded('RevokeRequest', { token_id: 'A'.repeat(22) }))],
  }),
  () => ({
    what: 'a revocation by an unknown caller',
    path: 'Revoke',
    headers: { authorization: 'Bearer nobody' },
    messages: [messageFrame(encoded('RevokeRequest', { token_id: 'A'.repeat(22) }))],
  }),
  () => ({
    what: 'health',
    path: '/grpc.health.v1.Health/Check',
    messages: [messageFrame(Buffer.alloc(0))],
  }),
  () => ({
    what: 'the health of an unknown service',
    path: '/grpc.health.v1.Health/Check',
    messages: [messageFrame(Buffer.concat([Buffer.of(0x0a, 6), Buffer.from('nosuch')]))],
  }),
  () => ({
    what: 'reflection',
    path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    messages: [messageFrame(Buffer.of(0x3a, 0))],
  }),
]

function largest(): Buffer {
  const message = encoded('CheckRequest', {
    ...{ api: 'balance', credentials: { headers: [{ name: 'x', value: 'v'.repeat(MESSAGE_BYTES_MAX) }] } },
  })
  const value = MESSAGE_BYTES_MAX - (message.length - MESSAGE_BYTES_MAX)
  return encoded('CheckRequest', {
    ...{ api: 'balance', credentials: { headers: [{ name: 'x', value: 'v'.repeat(value) }] } },
  })
}
