/** What is read and written by hand says the same as what protobuf's own implementation reads and writes. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EVERY_HEADER, headersFor } from '../../sidecar/contract/ext-authz/header-filter.ts'
import { readAsked } from '../../sidecar/contract/ext-authz/request.ts'
import type { Message } from '../support/contract/black-box.ts'
import { field, joined, tag } from '../support/contract/protobuf-bytes.ts'
import { engine } from '../support/matrices/engines.ts'
import { type AnyHeader, checkRequest, envoyMessage } from '../support/proxies/ext-authz.ts'

const request = envoyMessage('CheckRequest')

/** What the fields of a message mean, as somebody else reads them. */
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

test('fields that are not read are skipped: bodies, certificates, metadata and those of later versions', () => {
  const others = joined(
    field(1, 'id'),
    field(11, 'x-auth-token: in the body'),
    field(12, Buffer.alloc(100_000, 0xff)),
    joined(tag(9, 0), [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
    field(15, 'later'),
    joined(tag(16, 3), field(3, 'in a group'), tag(16, 4)),
  )
  const peer = joined(field(2, 'service'), field(4, 'spiffe://x'), field(5, 'certificate'))
  const unread = field(
    1,
    joined(
      field(1, joined(peer, field(1, joined(field(2, field(1, '/a/pipe')), field(3, 'internal'))))),
      field(2, peer),
      field(4, joined(field(1, ''), field(2, others))),
      field(11, 'metadata'),
      field(12, 'tls'),
    ),
  )
  const asked = request.serialize(
    checkRequest({ context: { api: 'balance' }, headers: [['x-auth-token', 'a']] }),
  )
  expect(read(joined(unread, asked, unread))).toEqual(read(asked))
  expect(read(unread)).toMatchObject({ context: new Map(), headers: [], peer: '' })
})

test('a message that is there twice is merged, so that no header hides another', () => {
  const one = request.serialize(checkRequest({ headers: [['x-auth-token', 'a']] }))
  const other = request.serialize(checkRequest({ headers: [['x-auth-token', 'b']], raw: true }))
  const values = readAsked(joined(one, other), EVERY_HEADER).headers.flatMap(([name, value]) =>
    name === 'x-auth-token' ? [value] : [],
  )
  expect(values).toEqual(['a', 'b'])
})

test('headers on which no decision depends are left out, and their values are not looked at', () => {
  const headers = [
    'accept',
    'x-auth-token',
    'X-Token',
    'x_auth_token',
    'x-forwarded-for',
    'x-portcullis-a',
    'x-request-id',
  ]
  const bytes = request.serialize(checkRequest({ raw: true, headers: headers.map((name) => [name, 'a']) }))
  expect(readAsked(bytes, headersFor(engine)).headers.map(([name]) => name)).toEqual([
    ...['x-auth-token', 'x-token', 'x_auth_token', 'x-forwarded-for', 'x-portcullis-a'],
  ])
})

test('a header with a value and a raw value is two headers', () => {
  const header = joined(field(1, 'x-auth-token'), field(2, 'a'), field(3, 'b'))
  const bytes = field(1, field(4, field(2, field(13, field(1, header)))))
  expect(readAsked(bytes, EVERY_HEADER).headers).toEqual([
    ['x-auth-token', 'b'],
    ['x-auth-token', 'a'],
  ])
})

describe('a question that is too large', () => {
  const http = (many: Buffer) => field(1, field(4, field(2, many)))
  const repeated = (count: number, part: Buffer) => Buffer.concat(Array.from({ length: count }, () => part))

  test.each<[what: string, bytes: Buffer, expected: string]>([
    [
      'headers',
      http(repeated(10_001, field(3, ''))),
      'attributes.request.http.headers: expected at most 10000 headers',
    ],
    [
      'headers one by one',
      http(field(13, repeated(10_001, field(1, '')))),
      'attributes.request.http.headers: expected at most 10000 headers',
    ],
    [
      'names of the route',
      field(1, repeated(101, field(10, ''))),
      'attributes.context_extensions: expected at most 100 names',
    ],
  ])('by its number of %s is refused', (_what, bytes, expected) => {
    expect(() => readAsked(bytes, EVERY_HEADER)).toThrow(expected)
  })

  test.each<[what: string, bytes: Buffer]>([
    ['an address that is a number', field(1, field(1, field(1, field(1, joined(tag(2, 0), [1])))))],
    [
      'a header that is longer than its request',
      field(1, joined(tag(4, 2), [2], field(2, field(3, 'x'.repeat(50))))),
    ],
    [
      'an account that is not UTF-8',
      field(1, field(10, joined(field(1, 'account'), field(2, Buffer.from([0xff]))))),
    ],
    ['attributes that are a number', joined(tag(1, 0), [1])],
  ])('%s is no question', (_what, bytes) => {
    expect(() => readAsked(bytes, EVERY_HEADER)).toThrow(
      'expected a message of the contract; the bytes cannot be decoded',
    )
  })
})
