/** Long requests in JSON: two are read at a time, in whatever form they come. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { Turns } from '../../sidecar/base/turns.ts'
import type { Methods } from '../../sidecar/contract/call.ts'
import { ContractCalls } from '../../sidecar/transports/connect/contract-calls.ts'
import { Descriptors } from '../../sidecar/transports/connect/json-codec.ts'
import { DEFAULT_LIMITS } from '../../sidecar/transports/http2/limits.ts'
import { enveloped, post } from '../support/contract/contract.ts'
import { whenTheFileEnds, working } from '../support/suite/resources.ts'

let reading = 0
let mostReading = 0

/** A codec that takes several turns for each request, and counts how many it is in the middle of. */
class CountingDescriptors extends Descriptors {
  override codecOf() {
    return {
      bytesMax: 1_000_000,
      read: (json: Buffer) => json,
      *readInSteps(json: Buffer) {
        mostReading = Math.max(mostReading, ++reading)
        for (let step = 0; step < 20; step++) {
          working(0.3)
          yield undefined
        }
        reading--
        return json
      },
      write: () => '{}',
    }
  }
}

const METHODS: Methods = new Map([
  ['/a.Service/Unary', { type: 'unary', handle: (request) => request }],
  [
    '/a.Service/Stream',
    {
      type: 'server_stream',
      handle: (request, responses) => {
        responses.write(request)
        responses.end()
      },
    },
  ],
])

const calls = new ContractCalls(METHODS, {
  maxMessageBytes: 1_000_000,
  bounds: DEFAULT_LIMITS,
  descriptors: new CountingDescriptors(),
  turns: new Turns(),
  statusOf: (error) => {
    throw error
  },
})
const server = createServer((request, response) =>
  calls.answer(request.url ?? '', {
    ...{ request, response, fields: [], address: undefined, requestId: '' },
    mayLast: () => {},
  }),
)
await once(server.listen(0, '127.0.0.1'), 'listening')
whenTheFileEnds(() => void server.close())
const address = `127.0.0.1:${(server.address() as AddressInfo).port}`

const LONG = ' '.repeat(10_000)

test.each([
  ['unary calls of Connect', ['/a.Service/Unary', 'application/json', LONG]],
  ['unary calls of gRPC-Web', ['/a.Service/Unary', 'application/grpc-web+json', enveloped(LONG)]],
  ['streams of Connect', ['/a.Service/Stream', 'application/connect+json', enveloped(LONG)]],
  ['streams of gRPC-Web', ['/a.Service/Stream', 'application/grpc-web+json', enveloped(LONG)]],
] as const)('%s, beside unary calls of Connect', async (_form, [path, type, body]) => {
  mostReading = 0
  const ask = (index: number) =>
    index % 2 === 0
      ? post(address, path, body, { 'content-type': type })
      : post(address, '/a.Service/Unary', LONG, { 'content-type': 'application/json' })
  const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => ask(index)))
  expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200))
  expect({ reading, mostReading }).toEqual({ reading: 0, mostReading: 2 })
})
