/** The hand-written code reads and writes the same as protobuf's own implementation. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { EVERY_HEADER } from '../../sidecar/contract/ext-authz/header-filter.ts'
import { readAsked } from '../../sidecar/contract/ext-authz/request.ts'
import type { Message } from '../support/contract/black-box.ts'
import { type AnyHeader, checkRequest, envoyMessage } from '../support/proxies/ext-authz.ts'

const request = envoyMessage('CheckRequest')

/** The fields of a message, as another implementation reads them. */
function meaning(bytes: Buffer): object {
  const { attributes } = request.deserialize(bytes) as Record<string, Message | undefined>
  const {
    source,
    request: asked,
    context_extensions,
  } = (attributes ?? {}) as Record<string, Message | undefined>
  const http = (asked?.http ?? {}) as {
    headers?: Record<string, string>
    method?: string
    host?: string
    path?: string
    header_map?: { headers?: AnyHeader[] }
  }
  const address = (source?.address as { socket_address?: { address?: string } } | undefined)?.socket_address
  return {
    context: new Map(Object.entries(context_extensions ?? {})),
    headers: [
      ...Object.entries(http.headers ?? {}).map(([name, value]) => [name, characters(value)]),
      ...(http.header_map?.headers ?? []).map(({ key = '', raw_value }) => [
        key,
        raw_value?.toString('latin1') ?? '',
      ]),
    ],
    peer: address?.address ?? '',
    ...{ method: http.method ?? '', host: http.host ?? '', path: characters(http.path ?? '') },
  }
}

const characters = (text: string) => Buffer.from(text).toString('latin1')

const read = (bytes: Buffer) => {
  const { context, headers, peer, method, host, path } = readAsked(bytes, EVERY_HEADER)
  return { context: new Map(context), headers, peer, method, host, path }
}

const headerName = fc.stringMatching(/^[a-z:][a-z0-9_-]{0,20}$/)
const pairs = fc.array(fc.tuple(headerName, fc.string({ unit: 'binary' })), { maxLength: 20 })

test('whatever Envoy sends is read as protobuf reads it', () => {
  fc.assert(
    fc.property(pairs, pairs, fc.boolean(), fc.string(), fc.string(), (headers, context, raw, from, path) => {
      const bytes = request.serialize(
        checkRequest({ headers, context: Object.fromEntries(context), raw, from, path }),
      )
      expect(read(bytes)).toEqual(meaning(bytes))
    }),
    { numRuns: 200 },
  )
})
