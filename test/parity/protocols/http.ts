/** One request of HTTP with its headers as they are written: names in any case, and repeated headers. */
import { Agent, request } from 'node:http'
import type { Decision } from '../../../engine/index.ts'
import { whenTheFileEnds } from '../../support/suite/resources.ts'
import { type Answer, refusedWith } from '../protocol.ts'
import type { Header, Question } from '../questions.ts'

export interface Exchange {
  readonly method?: string
  readonly path: string
  readonly headers: readonly Header[]
  readonly body?: string | undefined
}

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

/** The most that Node takes of headers, less those other than the question's. */
const HEADERS_BYTES_MAX = 16_000

/** Why a server of HTTP never sees the headers of a question: it has refused them with 431. */
export function tooLong({ subject }: Question): string | undefined {
  if ('claims' in subject) return undefined
  const bytes = subject.headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0)
  return bytes > HEADERS_BYTES_MAX ? 'a server of HTTP refuses headers of more than 16 KiB' : undefined
}

/** Sends requests one after the other on one connection. @param address `HOST:PORT` */
export function connectionTo(address: string): (exchange: Exchange) => Promise<Answered> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  whenTheFileEnds(() => agent.destroy())
  const [host, port] = address.split(':')
  return ({ method = 'GET', path, headers, body }) =>
    new Promise((resolve, reject) => {
      const asking = request(
        // A list is sent as it is, and Node adds no Host to it.
        { ...{ agent, host, port, method, path }, headers: [['Host', address], ...headers].flat() },
        (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (part) => {
            text += part
          })
          response.on('error', reject)
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers as Record<string, string>,
              text,
            }),
          )
        },
      )
      asking.on('error', reject)
      asking.end(body)
    })
}

/**
 * The facts of an answer to a proxy or by a middleware: 200 alone lets a request pass, and a denial has a
 * body.
 */
export function answerOf({ status, headers, text }: Answered): Answer {
  const rulesDigest = headers['x-portcullis-rules-digest'] as string
  if (status === 200) return { allowed: true, reason: 'ALLOWED', rulesDigest }
  const { error } = JSON.parse(text) as { error: Pick<Decision, 'reason' | 'message' | 'accepted'> }
  const { reason, message, accepted } = error
  const denial = refusedWith(status, Object.entries(headers))
  return { allowed: false, reason, message, accepted, rulesDigest, denial }
}
