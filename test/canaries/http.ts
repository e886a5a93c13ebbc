/**
 * The rows of the HTTP listener: the identity endpoint, proxies, AuthZEN, and the contract as no client of it
 * would ask.
 */

import { post as postBytes } from '../support/contract/contract.ts'
import { askAt, loginBody, type Request, rescopeBody, TOKENS } from '../support/identity/identity.ts'
import type { Row } from './rows.ts'
import { ASKED, CANARY, type Stage, secretOf } from './stage.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const portOf = (address: string) => Number(address.split(':').at(-1))

interface HttpRow {
  readonly what: string
  readonly request: (stage: Stage) => Request
  readonly rightly?: Row['rightly']
  /** The name of the new secret in the header X-Subject-Token. */
  readonly makes?: string
}

const post = (path: string, body: object | string, headers: Request['headers'] = JSON_TYPE): Request => ({
  ...{ method: 'POST', path, body },
  headers: { ...headers },
})
const get = (path: string, headers: Request['headers'] = {}): Request => ({ path, headers })

const IDENTITY: readonly HttpRow[] = [
  {
    what: 'a login',
    request: ({ secrets }) => post(TOKENS, loginBody({ password: secrets.password ?? '' })),
    makes: 'identityToken',
  },
  {
    what: 'a wrong password',
    request: ({ secrets }) => post(TOKENS, loginBody({ password: secrets.wrongPassword ?? '' })),
  },
  {
    what: 'a password as the user',
    request: ({ secrets }) => post(TOKENS, loginBody({ user: secrets.password ?? '', password: 'x' })),
  },
  {
    what: 'a password that is no text',
    request: ({ secrets }) =>
      post(TOKENS, JSON.stringify(loginBody({ password: 'P' })).replace('"P"', `["${secrets.password}"]`)),
  },
  {
    what: 'JSON that ends within the password',
    request: ({ secrets }) =>
      post(TOKENS, JSON.stringify(loginBody({ password: secrets.password ?? '' })).slice(0, -120)),
  },
  {
    what: 'JSON that is broken behind the password',
    request: ({ secrets }) =>
      post(TOKENS, JSON.stringify(loginBody({ password: secrets.password ?? '' })).replace(/}$/, ',}')),
  },
  {
    what: 'JSON with the password twice',
    request: ({ secrets }) =>
      post(
        TOKENS,
        JSON.stringify(loginBody({ password: 'P' })).replace(
          '"password":"P"',
          `"password":"${secrets.password}","password":"${CANARY}"`,
        ),
      ),
  },
  {
    what: 'a secret as the name of a member',
    request: () => post(TOKENS, { auth: { identity: { methods: ['password'], [CANARY]: {} } } }),
  },
  {
    what: 'a secret as the method',
    request: () => post(TOKENS, { auth: { identity: { methods: [CANARY] } } }),
  },
  {
    what: 'a secret as the project',
    request: ({ secrets }) => post(TOKENS, loginBody({ password: secrets.password ?? '', project: CANARY })),
  },
  { what: 'a body that is too long', request: () => post(TOKENS, CANARY.repeat(4_000)) },
  {
    what: 'a body of another type',
    request: () => post(TOKENS, CANARY, { 'content-type': `text/${CANARY}` }),
  },
  {
    what: 'a token in place of a password',
    request: ({ token }) => post(TOKENS, rescopeBody(token)),
    makes: 'rescopedToken',
  },
  {
    what: 'a wrong token in place of a password',
    request: ({ token }) => post(TOKENS, rescopeBody(`${token}${CANARY}`)),
  },
  {
    what: 'a validation',
    request: ({ token }) => get(TOKENS, { 'x-auth-token': token, 'x-subject-token': token }),
    rightly: {
      secrets: ['token', 'issuedToken', 'tokenOfProfile', 'identityToken', 'rescopedToken'],
      because: 'Keystone repeats the token that was asked about',
    },
  },
  {
    what: 'a validation of no token',
    request: ({ token }) => get(TOKENS, { 'x-auth-token': token, 'x-subject-token': CANARY }),
  },
  {
    what: 'a validation by no token',
    request: ({ token }) => get(TOKENS, { 'x-auth-token': CANARY, 'x-subject-token': token }),
  },
  {
    what: 'a revocation by no token',
    request: ({ token }) => ({
      ...get(TOKENS, { 'x-auth-token': CANARY, 'x-subject-token': token }),
      method: 'DELETE',
    }),
  },
  { what: 'a secret in the path', request: () => get(`/identity/v3/${CANARY}`) },
  {
    what: 'a secret in the query',
    request: ({ token }) => get(`/identity/v3/auth/catalog?token=${CANARY}`, { 'x-auth-token': token }),
  },
  {
    what: 'a secret as the method of HTTP',
    request: ({ secrets }) => ({
      ...get(TOKENS, { authorization: `Basic ${Buffer.from(`a:${secrets.password}`).toString('base64')}` }),
      method: 'PUT',
    }),
  },
  { what: 'a secret as the host', request: () => get('/', { host: `${CANARY}.example` }) },
  { what: 'a secret as the origin', request: () => get('/', { origin: `https://${CANARY}` }) },
  {
    what: 'a secret as the address of a client',
    request: ({ secrets }) =>
      get('/', { 'x-forwarded-for': CANARY, 'x-portcullis-proxy-secret': secrets.proxySecret ?? '' }),
  },
  { what: 'a wrong secret of a proxy', request: () => get('/', { 'x-portcullis-proxy-secret': CANARY }) },
  {
    what: 'a secret as the id of the request',
    request: () => get('/nosuch', { 'x-request-id': CANARY, 'x-openstack-request-id': CANARY }),
  },
  { what: 'the public keys', request: () => get(`/.well-known/jwks.json?${CANARY}`) },
]

const asProxy = ({ secrets }: Stage) => ({ 'x-portcullis-proxy-secret': secrets.proxySecret ?? '' })

const PROXIES: readonly HttpRow[] = [
  {
    what: '/authorize with a token',
    request: (at) => get('/authorize/balance', { ...asProxy(at), 'x-auth-token': at.token }),
  },
  {
    what: '/authorize with a denied token',
    request: (at) => get('/authorize/reports', { ...asProxy(at), 'x-auth-token': at.token }),
  },
  {
    what: '/authorize with no token',
    request: (at) => get('/authorize/balance', { ...asProxy(at), 'x-auth-token': CANARY, cookie: CANARY }),
  },
  { what: '/authorize for a secret', request: (at) => get(`/authorize/${ASKED}?${CANARY}`, asProxy(at)) },
  {
    what: '/authorize by a route',
    request: (at) =>
      get('/authorize', {
        ...asProxy(at),
        'x-original-method': 'GET',
        'x-original-uri': `/items/${CANARY}?token=${CANARY}`,
        'x-forwarded-host': `user:${CANARY}@host`,
        'x-token': CANARY,
      }),
  },
  {
    what: '/authorize by an unknown caller',
    request: () => get('/authorize/balance', { 'x-portcullis-proxy-secret': CANARY }),
  },
  {
    what: 'ext_authz over HTTP',
    request: (at) =>
      get(`/ext-authz/api=balance/a?token=${CANARY}`, { ...asProxy(at), 'x-auth-token': at.token }),
  },
  {
    what: 'ext_authz over HTTP without a setting',
    request: (at) => get(`/ext-authz/${CANARY}=${CANARY}/a`, asProxy(at)),
  },
  {
    what: 'ext_authz over HTTP with a broken path',
    request: (at) => get(`/ext-authz/%zz${CANARY}/a`, asProxy(at)),
  },
  {
    what: 'ext_authz over HTTP with a profile',
    request: (at) =>
      get('/ext-authz/api=balance,profile=job/a', {
        ...asProxy(at),
        'proxy-authorization': `Bearer ${CANARY}`,
        'x-auth-token': at.token,
      }),
  },
]

const subjectOf = (headers: object) => ({ type: 'credential', id: '-', properties: { headers } })
const evaluation = (headers: object, more: object = {}) => ({
  ...{ subject: subjectOf(headers), resource: { type: 'api', id: 'balance' }, action: { name: 'call' } },
  ...more,
})

const AUTHZEN: readonly HttpRow[] = [
  {
    what: 'AuthZEN with a token',
    request: ({ token }) => post('/access/v1/evaluation', evaluation({ 'X-Auth-Token': token })),
  },
  {
    what: 'AuthZEN with a token as a subject',
    request: ({ token }) =>
      post('/access/v1/evaluation', evaluation({}, { subject: { type: 'token', id: token } })),
  },
  {
    what: 'AuthZEN with secrets everywhere',
    request: () =>
      post(
        '/access/v1/evaluation',
        evaluation(
          { [CANARY]: CANARY },
          { context: { [CANARY]: CANARY }, resource: { type: CANARY, id: ASKED } },
        ),
      ),
  },
  {
    what: 'AuthZEN with broken JSON',
    request: ({ token }) => post('/access/v1/evaluation', `{"subject":{"id":"${token}"`),
  },
  {
    what: 'several of AuthZEN',
    request: ({ token }) =>
      post('/access/v1/evaluations', {
        evaluations: [evaluation({ 'X-Auth-Token': token }), { subject: CANARY }],
      }),
  },
  {
    what: 'a search of AuthZEN',
    request: ({ token }) =>
      post('/access/v1/search/resource', {
        ...evaluation({ 'X-Auth-Token': `${token}x` }),
        resource: { type: 'api' },
        page: { token: CANARY },
      }),
  },
  {
    what: 'AuthZEN with a wrong caller token',
    request: () => post('/access/v1/evaluation', {}, { ...JSON_TYPE, authorization: `Bearer ${CANARY}` }),
  },
  {
    what: 'AuthZEN with an id',
    request: () => post('/access/v1/evaluation', {}, { ...JSON_TYPE, 'x-request-id': CANARY }),
    rightly: { secrets: ['canary'], because: 'AuthZEN repeats X-Request-ID to the client that sent it' },
  },
]

const METHODS = '/portcullis.v1.AuthorizationService'
const CONTRACT: readonly HttpRow[] = [
  {
    what: 'Connect with broken JSON',
    request: ({ secrets }) => post(`${METHODS}/Issue`, `{"password":{"password":"${secrets.password}"`),
  },
  {
    what: 'Connect with unknown fields',
    request: () => post(`${METHODS}/Check`, { api: 'balance', [CANARY]: CANARY }),
  },
  {
    what: 'Connect with a field of another type',
    request: () => post(`${METHODS}/Check`, { api: [CANARY], token: CANARY }),
  },
  { what: 'Connect with an unknown method', request: () => post(`${METHODS}/${CANARY}`, {}) },
  {
    what: 'Connect with unknown versions',
    request: () =>
      post(
        `${METHODS}/Check`,
        {},
        {
          ...JSON_TYPE,
          'connect-protocol-version': CANARY,
          'connect-timeout-ms': CANARY,
          'content-encoding': CANARY,
        },
      ),
  },
  {
    what: 'Connect with another type',
    request: () => post(`${METHODS}/Check`, CANARY, { 'content-type': `application/${CANARY}` }),
  },
  {
    what: 'Connect with a body that is too long',
    request: () => post(`${METHODS}/Check`, { api: CANARY.repeat(3_000) }),
  },
  {
    what: 'gRPC-Web with no envelope',
    request: () => post(`${METHODS}/Check`, CANARY, { 'content-type': 'application/grpc-web+proto' }),
  },
  {
    what: 'gRPC-Web in text that is none',
    request: () => post(`${METHODS}/Check`, `!${CANARY}`, { 'content-type': 'application/grpc-web-text' }),
  },
]

function rowOf({ what, request, rightly, makes }: HttpRow): Row {
  const made = makes && { secrets: [makes], because: 'it is made for the user who logs in' }
  return {
    what: `HTTP: ${what}`,
    ...((rightly ?? made) && { rightly: rightly ?? (made as NonNullable<Row['rightly']>) }),
    ask: async (stage) => {
      const answer = await askAt(portOf(stage.http), request(stage))
      if (makes !== undefined)
        stage.secrets[makes] = secretOf(answer.headers['x-subject-token'] ?? answer.text)
      return answer
    },
  }
}

/** Their answers need not be JSON. */
const CONTRACT_ROWS = CONTRACT.map(
  ({ what, request }): Row => ({
    what: `HTTP: ${what}`,
    ask: (stage) => {
      const { path = '', body = '', headers = {} } = request(stage)
      const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
      return postBytes(stage.http, path, bytes, headers)
    },
  }),
)

export const HTTP_ROWS: readonly Row[] = [
  ...[...IDENTITY, ...PROXIES, ...AUTHZEN].map(rowOf),
  ...CONTRACT_ROWS,
]
