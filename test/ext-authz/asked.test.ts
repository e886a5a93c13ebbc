/**
 * The values that are read of the bytes in which Envoy asks. `wire.test.ts` shows that protobuf reads the
 * same.
 */
import { describe, expect, test } from 'vitest'
import {
  EVERY_HEADER,
  type HeaderFilter,
  headersFor,
} from '../../sidecar/contract/ext-authz/header-filter.ts'
import { readAsked } from '../../sidecar/contract/ext-authz/request.ts'
import { traceIn } from '../../sidecar/contract/ext-authz/request-trace.ts'
import { field, joined, tag } from '../support/contract/protobuf-bytes.ts'
import { engine } from '../support/matrices/engines.ts'

type Bytes = Uint8Array | string

/** A message of Envoy with these attributes, or with these fields in its place for the HTTP request. */
const attributes = (...fields: Buffer[]) => field(1, joined(...fields))
const http = (...fields: Buffer[]) => attributes(field(4, field(2, joined(...fields))))
const source = (...fields: Buffer[]) => attributes(field(1, field(1, field(1, joined(...fields)))))
const context = (name: Bytes, value: Bytes) => field(10, joined(field(1, name), field(2, value)))
const header = (name: Bytes, value: Bytes) => field(3, joined(field(1, name), field(2, value)))
const raw = (name: Bytes, value: Bytes) => field(13, field(1, joined(field(1, name), field(3, value))))

const NOTHING = { context: [], headers: [], peer: '', method: '', host: '', path: '' }
const read = (bytes: Buffer, filter: HeaderFilter = EVERY_HEADER) => {
  const { context, headers, peer, method, host, path } = readAsked(bytes, filter)
  return { context, headers, peer, method, host, path }
}

test.each<[what: string, bytes: Buffer, asked: Partial<typeof NOTHING> | object]>([
  ['nothing', Buffer.alloc(0), {}],
  ['the method', http(field(2, 'GET')), { method: 'GET' }],
  ['the path', http(field(4, '/v1?x')), { path: '/v1?x' }],
  ['the host', http(field(5, 'api.example')), { host: 'api.example' }],
  ['bytes that no URL has, each as a character', http(field(4, 'é')), { path: 'Ã©' }],
  ['the address of the peer', source(field(2, '192.0.2.7')), { peer: '192.0.2.7' }],
  ['a name of the route', attributes(context('account', 'é')), { context: [['account', 'é']] }],
  [
    'names of the route in their order',
    attributes(context('b', '1'), context('a', '2')),
    {
      context: [
        ['b', '1'],
        ['a', '2'],
      ],
    },
  ],
  ['a header', http(header('X-Auth-Token', 'é')), { headers: [['x-auth-token', 'Ã©']] }],
  ['a raw header', http(raw('X-Auth-Token', Buffer.from([0xff]))), { headers: [['x-auth-token', 'ÿ']] }],
  [
    'headers of both fields',
    http(header('a', '1'), raw('b', '2'), header('a', '3')),
    {
      headers: [
        ['a', '1'],
        ['b', '2'],
        ['a', '3'],
      ],
    },
  ],
  [
    'a header with a value and a raw value as two',
    http(field(3, joined(field(1, 'a'), field(2, 'value'), field(3, 'raw')))),
    {
      headers: [
        ['a', 'raw'],
        ['a', 'value'],
      ],
    },
  ],
  [
    'a header whose name comes last',
    http(field(3, joined(field(2, '1'), field(1, 'a')))),
    { headers: [['a', '1']] },
  ],
  ['a header without a value', http(field(3, field(1, 'a'))), { headers: [['a', '']] }],
  ['a header without a name', http(field(3, field(2, '1'))), { headers: [['', '1']] }],
])('of a question %s is read', (_what, bytes, asked) => {
  expect(read(bytes)).toEqual({ ...NOTHING, ...asked })
})

/** A message of another field of each wire type, and in a group. */
const OTHERS = joined(
  field(15, 'later'),
  field(12, Buffer.alloc(300, 0xff)),
  joined(tag(9, 0), [0xff, 0x01], tag(14, 1), new Uint8Array(8), tag(14, 5), new Uint8Array(4)),
  joined(tag(16, 3), field(3, 'in a group'), tag(16, 4)),
)

test('fields that are not read are skipped at every depth', () => {
  const among = (...fields: Buffer[]) => joined(OTHERS, ...fields.flatMap((each) => [each, OTHERS]))
  const message = (number: number, ...fields: Buffer[]) => field(number, among(...fields))
  const all = among(
    message(
      1,
      message(1, message(1, message(1, field(2, '192.0.2.7')))),
      message(10, field(1, 'api'), field(2, 'balance')),
      message(
        4,
        message(
          2,
          ...[field(2, 'GET'), field(4, '/'), field(5, 'a')],
          message(3, field(1, 'x-token'), field(2, '1')),
          message(13, message(1, field(1, 'x-auth-token'), field(3, '2'))),
        ),
      ),
    ),
  )
  expect(read(all)).toEqual({
    context: [['api', 'balance']],
    headers: [
      ['x-token', '1'],
      ['x-auth-token', '2'],
    ],
    ...{ peer: '192.0.2.7', method: 'GET', host: 'a', path: '/' },
  })
})

const twice = (number: number, inner: (value: string) => Buffer) =>
  joined(field(number, inner('1')), field(number, inner('2')))
const socketAddress = (value: string) => field(2, value)

test.each<[what: string, bytes: Buffer, asked: object]>([
  ['socket address', attributes(field(1, field(1, twice(1, socketAddress)))), { peer: '2' }],
  [
    'address',
    attributes(
      field(
        1,
        twice(1, (value) => field(1, socketAddress(value))),
      ),
    ),
    { peer: '2' },
  ],
  ['source', attributes(twice(1, (value) => field(1, field(1, socketAddress(value))))), { peer: '2' }],
  [
    'HTTP request',
    attributes(
      field(
        4,
        twice(2, (value) => field(5, value)),
      ),
    ),
    { host: '2' },
  ],
  ['request', attributes(twice(4, (value) => field(2, field(5, value)))), { host: '2' }],
  [
    'raw header',
    http(
      field(
        13,
        twice(1, (value) => field(3, value)),
      ),
    ),
    {
      headers: [
        ['', '1'],
        ['', '2'],
      ],
    },
  ],
  [
    'name of a route',
    attributes(field(10, ''), field(10, field(1, 'a'))),
    {
      context: [
        ['', ''],
        ['a', ''],
      ],
    },
  ],
])('a %s that is there twice within another message is read twice', (_what, bytes, asked) => {
  expect(read(bytes)).toEqual({ ...NOTHING, ...asked })
})

test('a message that is there twice is merged, so that no header and no name hides another', () => {
  const [one, other] = ['1', '2'].map((value) =>
    joined(
      http(field(2, value), header('a', value)),
      attributes(context('b', value)),
      source(field(2, value)),
    ),
  ) as [Buffer, Buffer]
  expect(read(joined(one, other))).toMatchObject({
    context: [
      ['b', '1'],
      ['b', '2'],
    ],
    headers: [
      ['a', '1'],
      ['a', '2'],
    ],
    ...{ peer: '2', method: '2' },
  })
})

test('headers on which no decision depends are left out, and their values are not looked at', () => {
  const names = ['accept', 'X-Auth-Token', 'x_token', 'x-forwarded-for', 'x-portcullis-a', 'x-request-id']
  const truncated = joined(tag(2, 2), [100])
  const unread = field(3, joined(field(1, 'accept'), truncated))
  const bytes = http(unread, ...names.flatMap((name) => [header(name, '1'), raw(name, '2'), unread]))
  const relevant = ['x-auth-token', 'x_token', 'x-forwarded-for', 'x-portcullis-a']
  expect(read(bytes, headersFor(engine)).headers).toEqual(
    relevant.flatMap((name) => [
      [name, '1'],
      [name, '2'],
    ]),
  )
})

test('each name is asked about cheaply first, and exactly only where that leaves it open', () => {
  const asked: unknown[] = []
  const filter: HeaderFilter = {
    isRelevant: (name) => {
      asked.push(name)
      return name !== 'abcd'
    },
    mayBeRelevant: (...of) => {
      asked.push(of)
      return of[0] !== 3
    },
  }
  const long = 'x'.repeat(200)
  const { headers } = read(
    http(header('abc', '1'), header('abcd', '2'), header('Abcde', '3'), header(long, '4')),
    filter,
  )
  const c = 'c'.charCodeAt(0)
  // The length of a long name takes more than one byte.
  expect(asked.slice(0, -2)).toEqual([[3, c], [4, c], 'abcd', [5, c], 'Abcde'])
  expect(asked.slice(-2)).toEqual([[-1, expect.any(Number)], long])
  expect(headers).toEqual([
    ['abcde', '3'],
    [long, '4'],
  ])
})

describe('a question', () => {
  const times = (count: number, part: Buffer) => Buffer.concat(Array.from({ length: count }, () => part))
  const EMPTY_HEADER = header('', '')

  test('of as many headers and names as can be is read', () => {
    expect(read(http(times(10_000, field(3, '')))).headers).toHaveLength(10_000)
    expect(read(attributes(times(100, field(10, '')))).context).toHaveLength(100)
  })

  test.each<[what: string, bytes: Buffer, message: string]>([
    [
      'of too many headers',
      http(times(10_001, field(3, ''))),
      'attributes.request.http.headers: expected at most 10000 headers',
    ],
    [
      'of too many raw headers',
      http(field(13, times(10_001, field(1, '')))),
      'attributes.request.http.headers: expected at most 10000 headers',
    ],
    [
      'of too many headers of both sorts',
      http(times(5_000, field(3, '')), EMPTY_HEADER, field(13, times(5_000, field(1, '')))),
      'attributes.request.http.headers: expected at most 10000 headers',
    ],
    [
      'of too many names of the route',
      attributes(times(101, field(10, ''))),
      'attributes.context_extensions: expected at most 100 names',
    ],
    ...(
      [
        ['of an address that is a number', source(joined(tag(2, 0), [1]))],
        [
          'of a header that is longer than its request',
          attributes(joined(tag(4, 2), [2], field(2, field(3, 'x'.repeat(50))))),
        ],
        ['of an account that is not UTF-8', attributes(context('account', Buffer.from([0xff])))],
        ['of a name that is not UTF-8', attributes(context(Buffer.from([0xff]), '1'))],
        ['of attributes that are a number', joined(tag(1, 0), [1])],
        ['of a method that is a number', http(joined(tag(2, 0), [1]))],
        ['that ends within a field', http(field(2, 'GET')).subarray(0, -1)],
      ] as [string, Buffer][]
    ).map(([what, bytes]): [string, Buffer, string] => [
      what,
      bytes,
      'expected a message of the contract; the bytes cannot be decoded',
    ]),
  ])('%s is refused', (_what, bytes, message) => {
    expect(() => read(bytes)).toThrow(
      expect.objectContaining({ reason: 'INVALID_ARGUMENT', message: expect.stringContaining(message) }),
    )
  })
})

test.each<[headers: [string, string][], traceparent: string[], tracestate: string[]]>([
  [[['traceparent', 'a']], ['a'], []],
  [
    [
      ['TraceParent', 'a'],
      ['tracestate', 'b'],
      ['x-auth-token', 'c'],
      ['traceparent', 'd'],
      ['x-trace-abc', 'e'],
      ['cache-data', 'f'],
    ],
    ['a', 'd'],
    ['b'],
  ],
])('of the headers %j the trace is read', (headers, traceparent, tracestate) => {
  const found = traceIn(http(...headers.map(([name, value]) => header(name, value))))
  expect(found?.metadata('traceparent')).toEqual(traceparent)
  expect(found?.metadata('tracestate')).toEqual(tracestate)
  for (const other of ['x-auth-token', 'x-trace-abc', 'cache-data'])
    expect(found?.metadata(other)).toEqual([])
})

test('without a trace none is read, also in bytes that are not a message', () => {
  expect(traceIn(http(header('tracestate', 'b')))).toBeUndefined()
  expect(traceIn(Buffer.from('traceparent'))).toBeUndefined()
})
