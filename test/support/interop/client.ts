/** A client in another language: the tests write rows of JSON to it, and read its answers. */
import type { Available } from '../../interop/setup.ts'
import { startProcess } from '../processes/processes.ts'
import { HANGS_MS } from '../suite/resources.ts'

/** A call: messages are JSON as protobuf defines it, with the field names of the protos. */
export interface Row {
  readonly call: `${'AuthorizationService' | 'Health'}/${string}`
  /** One, or for `CheckStream` any number. */
  readonly requests: readonly object[]
  /** Values of `-bin` are base64. */
  readonly metadata?: Readonly<Record<string, string>>
  readonly deadline_ms?: number
  /** How many responses of a stream are read before it is left; absent: all. */
  readonly responses_max?: number
  /** The encoding of the requests; absent: none. */
  readonly compression?: 'gzip'
  /**
   * How often grpc-go makes the call, all of them at once. The answer has the first error, and the responses
   * of one of them.
   */
  readonly at_once?: number
  /** Of a long `CheckStream`, or of many `Check`: the requests are sent in their order, again and again. */
  readonly pace?: Pace
}

/**
 * How questions are asked. The client answers with one response: how often it got which answer, by
 * `NUMBER ALLOWED`, or one that was not due. The number is that of the request, which has it as its id on a
 * stream.
 */
export interface Pace {
  /**
   * How many questions each stream asks. A `Check` is sent when the one before it is answered, by as many as
   * there are streams.
   */
  readonly count: number
  readonly streams: number
  /** How many questions of a stream may wait for their answers. */
  readonly in_flight: number
  /** A stream rests for `rest_ms` after this many answers; 0: never. */
  readonly rest_every: number
  readonly rest_ms: number
}

export interface Answer {
  readonly responses: readonly Json[]
  readonly error?: { readonly code: string; readonly message: string; readonly details: readonly Json[] }
}

/** A message as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: what a client printed; every test says what it expects of it
export type Json = Readonly<Record<string, any>>

/** Asks, and resolves at the end of the answer; `each` sees every response as it comes. */
export type Ask = (row: Row, each?: (response: Json) => void) => Promise<Answer>

export interface RunningClient {
  readonly ask: Ask
  stop(): Promise<void>
}

/** PEM files. */
export interface TlsFiles {
  readonly ca: string
  /** The client's own certificate, if it has one. */
  readonly own?: { readonly certificate: string; readonly key: string }
}

/** A question whose answer has not come to its end. */
interface Waiting {
  readonly responses: Json[]
  error?: Answer['error']
  readonly each: ((response: Json) => void) | undefined
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** Starts a client that will ask the sidecar at `address`. */
export function startClient(program: Available, address: string, tls?: TlsFiles): RunningClient {
  if (!program.ok) throw new Error(program.why)
  const client = startProcess([...program.command, '--address', address, ...tlsFlags(tls)], {
    environment: { ...process.env, ...program.env },
    input: 'open',
  })
  const waiting: Waiting[] = []
  client.onLine((line) => {
    const [question] = waiting
    const { response, error, end } = JSON.parse(line)
    if (question === undefined) return
    if (error !== undefined) question.error = error
    if (response !== undefined) {
      question.responses.push(response)
      question.each?.(response)
    }
    if (end) {
      waiting.shift()
      question.resolve()
    }
  })
  const giveUp = (error: Error) => {
    for (const { reject } of waiting.splice(0)) reject(error)
  }
  client.ended.then(
    ({ code, stderr }) => giveUp(new Error(`the client ended with ${code}: ${stderr}`)),
    giveUp,
  )
  return {
    ask: async (row, each) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const question: Waiting = { responses: [], each, resolve, reject }
      waiting.push(question)
      client.write(`${JSON.stringify({ deadline_ms: HANGS_MS, ...row })}\n`)
      await promise
      const { responses, error } = question
      return { responses, ...(error && { error }) }
    },
    stop: async () => void (await client.stop()),
  }
}

function tlsFlags(tls: TlsFiles | undefined): string[] {
  if (tls === undefined) return []
  const own = tls.own && ['--certificate', tls.own.certificate, '--key', tls.own.key]
  return ['--ca', tls.ca, ...(own ?? [])]
}
