/** The rows of egress and of the health listener, and bytes that are not HTTP on any listener. */

import { askAt } from '../support/identity/identity.ts'
import { ask as askEgress, exchange } from '../support/sidecar/egress.ts'
import { type Row, settled } from './rows.ts'
import { CANARY, REQUEST_ID, type Stage } from './stage.ts'

/** Malformed HTTP, on each listener that speaks it. */
const BYTES: readonly (readonly [what: string, bytes: string])[] = [
  ['a header without a colon', `GET / HTTP/1.1\r\nHost: a\r\n${CANARY}\r\n\r\n`],
  ['a control character in a header', `GET / HTTP/1.1\r\nHost: a\r\nX-Token: \u0001${CANARY}\r\n\r\n`],
  ['headers that are too long', `GET / HTTP/1.1\r\nHost: a\r\nCookie: ${CANARY.repeat(2_000)}\r\n\r\n`],
  ['a request line with a secret', `${CANARY} / HTTP/1.1\r\nHost: a\r\n\r\n`],
  ['an unknown version', `GET /${CANARY} HTTP/9.9\r\nHost: a\r\n\r\n`],
  [
    'a whole URL with a password',
    `GET http://a:${CANARY}@b/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
  ],
  ['a tunnel', `CONNECT a:${CANARY}@b:443 HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n`],
  ['two lengths', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n${CANARY}`],
  ['no text', `\u0016\u0003\u0001${CANARY}\r\n\r\n`],
]

const LISTENERS = ['http', 'egress', 'health'] as const

export const BYTE_ROWS: readonly Row[] = LISTENERS.flatMap((listener) =>
  BYTES.map(
    ([what, bytes]): Row => ({
      what: `${listener}: ${what}`,
      ask: (stage) => settled(exchange(stage[listener], bytes)),
    }),
  ),
)

const EGRESS: readonly (readonly [
  what: string,
  path: string,
  wish: (stage: Stage) => Parameters<typeof askEgress>[2],
])[] = [
  ['a request', `/anyone/${CANARY}?token=${CANARY}`, () => ({ headers: { cookie: CANARY } })],
  [
    'a request with a credential of its own',
    '/anyone/',
    ({ token }) => ({ headers: { 'x-auth-token': token, authorization: `Bearer ${CANARY}` } }),
  ],
  [
    'a known caller',
    '/known/',
    ({ secrets }) => ({ headers: { 'proxy-authorization': `Bearer ${secrets.callerToken}` } }),
  ],
  ['an unknown caller', '/known/', () => ({ headers: { 'proxy-authorization': `Bearer ${CANARY}` } })],
  ['a static token', '/static/', () => ({})],
  ['a password that is refused', '/stale/', () => ({ headers: { 'x-request-id': CANARY } })],
  ['the token of an upstream', '/upstream/', () => ({ body: CANARY })],
  [
    'a target that is down',
    `/down/${CANARY}`,
    ({ secrets }) => ({ body: secrets.password ?? '', headers: { 'x-request-id': REQUEST_ID } }),
  ],
  ['no route', `/${CANARY}?${CANARY}`, () => ({})],
  ['a path that can be read in two ways', `/anyone/%2e%2e/${CANARY}`, () => ({})],
  ['another host', '/anyone/', () => ({ headers: { host: CANARY } })],
  ['an upgrade', '/anyone/', () => ({ headers: { upgrade: CANARY, connection: 'upgrade' } })],
]

export const EGRESS_ROWS: readonly Row[] = EGRESS.map(([what, path, wish]) => ({
  what: `egress: ${what}`,
  ask: (stage) => settled(askEgress(stage.egress, path, wish(stage))),
}))

const HEALTH = ['/healthz', '/readyz?verbose', '/metrics', `/${CANARY}`, `/metrics?${CANARY}`]

export const HEALTH_ROWS: readonly Row[] = HEALTH.map((path) => ({
  what: `health: ${path.replace(CANARY, 'SECRET')}`,
  ask: (stage) => {
    const headers = { authorization: `Bearer ${CANARY}`, accept: CANARY, cookie: CANARY }
    return settled(askAt(Number(stage.health.split(':').at(-1)), { path, headers }))
  },
}))
