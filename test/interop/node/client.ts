/**
 * Calls the sidecar with grpc-js. Messages are built from the contract's descriptors, so nothing is
 * generated. The input is a line of JSON. The output has a line for each response, a line for the error if
 * there is one, and a line for the end.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import {
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { loadFileDescriptorSetFromBuffer, type MethodDefinition } from '@grpc/proto-loader'
import type { Pace, Row } from '../../support/interop/client.ts'

const OPTIONS = { keepCase: true, longs: String, enums: String, bytes: String, defaults: true, oneofs: true }

const flags = process.argv
const flag = (name: string) => flags[flags.indexOf(name) + 1] ?? ''
const definitions = Object.assign(
  {},
  ...['portcullis', 'health', 'google_rpc'].map((name) =>
    loadFileDescriptorSetFromBuffer(readFileSync(join(flag('--protos'), `${name}.binpb`)), OPTIONS),
  ),
)
const client = new Client(flag('--address'), credentials.createInsecure())

for await (const line of createInterface(process.stdin)) {
  const row: Row = JSON.parse(line)
  const error = await (row.pace === undefined ? ask(row) : askForLong(row, row.pace))
  if (error !== undefined) print({ error: describe(error) })
  print({ end: true })
}
client.close()

/** Every call is made as a stream in both directions, which on the wire all calls are. */
function ask({ call, requests, metadata = {}, deadline_ms = 0, responses_max, compression }: Row) {
  const [service = '', name = ''] = call.split('/')
  const scope = service === 'Health' ? 'grpc.health.v1' : 'portcullis.v1'
  const method: MethodDefinition<object, object> = definitions[`${scope}.${service}`][name]
  const sent = new Metadata()
  for (const [key, value] of Object.entries(metadata))
    sent.set(key, key.endsWith('-bin') ? Buffer.from(value, 'base64') : value)
  if (compression !== undefined) sent.set('grpc-internal-encoding-request', compression)
  const stream: ClientDuplexStream<object, object> = client.makeBidiStreamRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
    sent,
    { deadline: Date.now() + deadline_ms },
  )
  return new Promise<ServiceError | undefined>((resolve) => {
    let number = 0
    stream.on('data', (response) => {
      print({ response })
      if (++number === responses_max) stream.cancel()
    })
    stream.once('error', (error: ServiceError) => resolve(number === responses_max ? undefined : error))
    stream.once('end', () => resolve(undefined))
    for (const request of requests) stream.write(request)
    stream.end()
  })
}

/** Asks on several streams, and prints how often it got which answer. */
async function askForLong({ call, requests, deadline_ms = 0 }: Row, pace: Pace) {
  const { path, requestSerialize, responseDeserialize, requestStream }: MethodDefinition<object, object> =
    definitions['portcullis.v1.AuthorizationService'][call.split('/')[1] ?? '']
  const tallies: Record<string, number> = {}
  const ids = requests.map((request) => (request as { readonly id: string }).id)
  const tally = (key: string) => {
    tallies[key] = (tallies[key] ?? 0) + 1
  }
  /** Each question is a separate call. */
  const callByCall = () =>
    new Promise<ServiceError | undefined>((resolve) => {
      const askNext = (index: number) => {
        if (index === pace.count) return resolve(undefined)
        const at = index % requests.length
        client.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize as (bytes: Buffer) => { readonly allowed: boolean },
          requests[at] as object,
          { deadline: Date.now() + deadline_ms },
          (error, answer) => {
            if (error !== null) return resolve(error)
            tally(`${at} ${answer?.allowed}`)
            askNext(index + 1)
          },
        )
      }
      askNext(0)
    })
  const stream = () =>
    new Promise<ServiceError | undefined>((resolve) => {
      const stream: ClientDuplexStream<object, object> = client.makeBidiStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        { deadline: Date.now() + deadline_ms },
      )
      let asked = 0
      let answered = 0
      const goOn = () => {
        for (; asked < pace.count && asked - answered < pace.in_flight; asked++)
          stream.write(requests[asked % requests.length] as object)
        if (asked === pace.count && answered === pace.count) stream.end()
      }
      stream.on('data', ({ id, result }) => {
        tally(id === ids[answered++ % ids.length] ? `${id} ${result.allowed}` : 'out of order')
        if (pace.rest_every > 0 && answered % pace.rest_every === 0) setTimeout(goOn, pace.rest_ms)
        else goOn()
      })
      stream.once('error', resolve)
      stream.once('end', () => resolve(undefined))
      goOn()
    })
  const errors = await Promise.all(Array.from({ length: pace.streams }, requestStream ? stream : callByCall))
  print({ response: tallies })
  return errors.find((error) => error !== undefined)
}

function describe({ code, details: message, metadata }: ServiceError): object {
  const decode = (name: string, bytes: Buffer) => {
    const type = definitions[`google.rpc.${name}`]
    return type.deserialize(bytes)
  }
  const [bytes] = metadata.get('grpc-status-details-bin')
  const stated = Buffer.isBuffer(bytes) ? decode('Status', bytes).details : []
  const details = stated.map(({ type_url: url, value }: { type_url: string; value: string }) => ({
    '@type': url,
    ...decode(url.slice(url.lastIndexOf('.') + 1), Buffer.from(value, 'base64')),
  }))
  return { code: status[code], message, details }
}

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
