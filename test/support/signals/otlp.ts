/** An endpoint of OpenTelemetry: it keeps what it gets, and reads spans as OTLP has them in JSON. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { whenTheFileEnds } from '../suite/resources.ts'

export interface ReceivedByEndpoint {
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Endpoint {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string
  readonly received: ReceivedByEndpoint[]
  /** Of the answers from now on. */
  status: number | 'silent'
  /** Other fields of an answer, by the body of its request. */
  answer: (body: string) => EndpointAnswer
}

export interface EndpointAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export async function startEndpoint(status: Endpoint['status'] = 200): Promise<Endpoint> {
  const received: ReceivedByEndpoint[] = []
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString()
    received.push({ path: request.url, headers: request.headers, body })
    if (endpoint.status === 'silent') return
    const { status = endpoint.status, headers, body: answer = '{}' } = endpoint.answer(body)
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(answer)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenTheFileEnds(() => {
    server.closeAllConnections()
    server.close()
  })
  const endpoint: Endpoint = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    status,
    answer: () => ({}),
  }
  return endpoint
}

/** A span as an endpoint gets it. */
export interface ReceivedSpan {
  readonly name: string
  readonly kind: 'internal' | 'server' | 'client'
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly traceState: string | undefined
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly failed: boolean
  readonly startNs: bigint
  readonly endNs: bigint
}

interface OtlpSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly status: { readonly code?: number }
}

/** OTLP writes whole numbers as texts. */
function valueOfAttribute({
  stringValue,
  boolValue,
  intValue,
  ...others
}: Readonly<Record<string, unknown>>) {
  expect(others).toEqual({})
  return (stringValue ?? boolValue ?? Number(intValue)) as string | number | boolean
}

const KINDS = [undefined, 'internal', 'server', 'client'] as const

/** Every span so far, in the order in which they began. */
export function spansAt({ received }: Endpoint): ReceivedSpan[] {
  return received
    .flatMap(({ body }) => JSON.parse(body).resourceSpans as { scopeSpans: { spans: OtlpSpan[] }[] }[])
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
    .map((span): ReceivedSpan => {
      const { name, traceId, spanId, parentSpanId, traceState, attributes, status } = span
      const kind = KINDS[span.kind]
      if (kind === undefined) throw new Error(`${name}: expected a known kind`)
      return {
        ...{ name, kind, traceId, spanId, parentSpanId, traceState, failed: status.code === 2 },
        attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, valueOfAttribute(value)])),
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
      }
    })
    .toSorted((a, b) => Number(a.startNs - b.startNs))
}
