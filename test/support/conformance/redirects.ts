/** Redirects, and where a client may send a token: sequences of answers, and pairs of URLs. */

/** `a` is the server that the program asks, and `b` another one: the same host, another port. */
type Server = 'a' | 'b'

export interface RedirectLine {
  readonly name: string
  readonly method: string
  /** Empty: none. */
  readonly body: string
  /**
   * The answers to the first, the second, … request, to any of the servers. `{a}` is HOST:PORT of a server.
   */
  readonly answers: readonly { readonly status: number; readonly location?: string }[]
  /** The requests: which server, the method, the token or null, and the body. */
  readonly requests: readonly (readonly [
    server: Server,
    method: string,
    token: string | null,
    body: string,
  ])[]
  /** After this many requests a client may end, with the answer to the last one or an error. */
  readonly least?: number
}

export interface OriginLine {
  readonly from: string
  readonly to: string
  readonly same: boolean
}

const ok = { status: 200 }
const refused = { status: 401 }
const to = (location: string, status = 302) => ({ status, location })

const AWAY = 'http://{b}/away'
const ONE: RedirectLine['requests'][number] = ['a', 'GET', 'token-1', '']
const TWO: RedirectLine['requests'][number] = ['a', 'GET', 'token-2', '']
const NONE: RedirectLine['requests'][number] = ['b', 'GET', null, '']

type Sequence = Pick<RedirectLine, 'answers' | 'requests' | 'least'>

const SEQUENCES: Readonly<Record<string, Sequence>> = {
  '401, then another origin': { answers: [refused, to(AWAY), ok], requests: [ONE, TWO, NONE] },
  '401, then the same origin': { answers: [refused, to('/here'), ok], requests: [ONE, TWO, TWO] },
  'the same origin, then 401': { answers: [to('/here'), refused, ok], requests: [ONE, ONE, TWO] },
  'the same origin, 401, then another origin': {
    answers: [to('/here'), refused, to(AWAY), ok],
    requests: [ONE, ONE, TWO, NONE],
  },
  'the same origin, then another one': { answers: [to('/here'), to(AWAY), ok], requests: [ONE, ONE, NONE] },
  'another origin and back': {
    answers: [to(AWAY), to('http://{a}/back'), ok],
    requests: [ONE, NONE, ['a', 'GET', null, '']],
  },
  '401, then another origin and back': {
    answers: [refused, to(AWAY), to('http://{a}/back'), ok],
    requests: [ONE, TWO, NONE, ['a', 'GET', null, '']],
  },
  'another origin twice': { answers: [to(AWAY), to('/further'), ok], requests: [ONE, NONE, NONE] },
  '401 of another origin': { answers: [to(AWAY), refused], requests: [ONE, NONE] },
  'another origin without a scheme': { answers: [to('//{b}/away'), ok], requests: [ONE, NONE] },
  'the same origin without a scheme': { answers: [to('//{a}/here'), ok], requests: [ONE, ONE] },
  'the same origin with a whole URL': { answers: [to('http://{a}/here?to={b}'), ok], requests: [ONE, ONE] },
  'https where nothing listens': { answers: [to('https://127.0.0.1:1/away')], requests: [ONE] },
  'the same server with another name': {
    answers: [to('http://localhost:{a.port}/here'), ok],
    requests: [ONE, ['a', 'GET', null, '']],
    least: 1,
  },
  'a user that looks like the same origin': {
    answers: [to('http://{a}@{b}/away'), ok],
    requests: [ONE, NONE],
    least: 1,
  },
  'a user of the same origin': {
    answers: [to('http://user:secret@{a}/here'), ok],
    requests: [ONE, ONE],
    least: 1,
  },
  'data:': { answers: [to('data:text/plain,found')], requests: [ONE] },
  'a file': { answers: [to('file:///etc/hostname')], requests: [ONE] },
  'no location': { answers: [{ status: 302 }], requests: [ONE] },
  'no location after 401': { answers: [refused, { status: 302 }], requests: [ONE, TWO] },
}

/** The effect of a redirect on a request with a body. */
const BODIES: readonly (readonly [status: number, method: string, body: string])[] = [
  [301, 'GET', ''],
  [302, 'GET', ''],
  [303, 'GET', ''],
  [307, 'POST', 'body'],
  [308, 'POST', 'body'],
]

export function* redirects(): Generator<RedirectLine | OriginLine> {
  for (const [name, sequence] of Object.entries(SEQUENCES))
    yield { name, method: 'GET', body: '', ...sequence }
  for (const [status, method, body] of BODIES) {
    const post = { method: 'POST', body: 'body' }
    yield {
      name: `${status} of a POST within the origin`,
      ...post,
      answers: [to('/here', status), ok],
      requests: [
        ['a', 'POST', 'token-1', 'body'],
        ['a', method, 'token-1', body],
      ],
    }
    yield {
      name: `${status} of a POST to another origin, after 401`,
      ...post,
      answers: [refused, to(AWAY, status), ok],
      requests: [
        ['a', 'POST', 'token-1', 'body'],
        ['a', 'POST', 'token-2', 'body'],
        ['b', method, null, body],
      ],
    }
  }
  yield {
    name: 'a POST that leads to a GET, then 401: nothing is posted twice',
    ...{ method: 'POST', body: 'body' },
    answers: [to('/here', 303), refused, ok],
    requests: [['a', 'POST', 'token-1', 'body'], ONE, TWO],
    least: 2,
  }
  for (const [from, to, same] of ORIGINS) yield { from, to, same }
}

const ORIGINS: readonly (readonly [from: string, to: string, same: boolean])[] = [
  ['http://a.example/', 'http://a.example/x?y', true],
  ['http://a.example/', 'HTTP://A.EXAMPLE:80/', true],
  ['https://a.example/', 'https://a.example:443/', true],
  ['http://[::1]/', 'http://[::1]:80/', true],
  ['http://a.example/', 'http://user:secret@a.example/', true],
  ['http://a.example/', 'https://a.example/', false],
  ['https://a.example/', 'http://a.example/', false],
  ['http://a.example:443/', 'https://a.example/', false],
  ['https://a.example:8443/', 'https://a.example/', false],
  ['http://a.example:8080/', 'http://a.example:8081/', false],
  ['http://a.example/', 'http://b.a.example/', false],
  ['http://b.a.example/', 'http://a.example/', false],
  ['http://a.example/', 'http://a.example.b.example/', false],
  ['http://a.example/', 'http://a.example@b.example/', false],
  ['http://a.example/', 'http://a.example:80@b.example/', false],
  ['http://a.example/', 'http://b.example/http://a.example/', false],
  ['http://a_a.example/', 'http://b_b.example/', false],
  ['http://127.0.0.1/', 'http://localhost/', false],
  ['http://127.0.0.1/', 'http://[::1]/', false],
]
