/** Bytes that no generated code would send: the sidecar refuses them and keeps answering. */
import { describe, expect, test } from 'vitest'
import {
  BlackBox,
  encoded,
  invalid,
  type Message,
  type Refusal,
  refusalOf,
  refused,
} from '../support/contract/black-box.ts'
import { field, joined, tag, varint } from '../support/contract/protobuf-bytes.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'

const MESSAGE_BYTES_MAX = 1_048_576
const running = await runSidecar({ flags: { 'grpc.max_message_bytes': MESSAGE_BYTES_MAX } })
const box = new BlackBox(running.address)
const secrets = await populate(running)

const good: Message = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
const bytes = encoded('CheckRequest', good)
const ALLOWED = { allowed: true, reason: 'REASON_ALLOWED' }
const NO_MESSAGE: Refusal = {
  code: 'INVALID_ARGUMENT',
  reason: 'INVALID_ARGUMENT',
  message: 'expected a message of the contract; the bytes cannot be decoded',
  metadata: {},
  violations: [],
}

const claims = (inner: Uint8Array) => joined(field(1, 'balance'), field(3, inner))
const scope = field(2, field(1, ACCOUNT))
const nested = (depth: number): Buffer =>
  depth === 0 ? Buffer.alloc(0) : joined(tag(100, 3), nested(depth - 1), tag(100, 4))

const MALFORMED: [claim: string, bytes: Buffer][] = [
  ['without its last byte', bytes.subarray(0, -1)],
  ['that ends within a tag', joined(bytes, [0x80])],
  ['with a field number of 0', joined(bytes, [0x00])],
  ['with a field number of 0 first', joined([0x00], bytes)],
  ['with the end of a group that did not begin', joined(bytes, tag(100, 4))],
  ['with a group that ends with the wrong number', joined(bytes, tag(100, 3), tag(101, 4))],
  ['with a group that never ends', joined(bytes, tag(100, 3))],
  ['with groups a thousand deep', joined(bytes, nested(1_000))],
  ['with the wire type 6', joined(bytes, tag(100, 6))],
  ['with the wire type 7', joined(bytes, tag(100, 7))],
  ['with a field number beyond 32 bits', joined(bytes, [0xfa, 0xff, 0xff, 0xff, 0x7f, 0x00])],
  ['with an API id that is a number', joined(bytes, tag(1, 0), [0x07])],
  [
    'with a string that is longer than the rest',
    joined(bytes, tag(100, 2), varint(1_000_000_000), [1, 2, 3]),
  ],
  [
    'with claims that are longer than the rest',
    joined(field(1, 'balance'), tag(3, 2), [100], field(1, 'static_token')),
  ],
  // A nested message must end where the outer message says. A lenient reader would read the excess as other
  // fields.
  [
    'with claims that contain a kind that is longer than the claims',
    joined(field(1, 'balance'), tag(3, 2), [2], field(1, 'static_token')),
  ],
  [
    'with claims that contain the end of a group that did not begin',
    claims(joined(field(1, 'static_token'), tag(9, 4), scope)),
  ],
  ['with claims that have a field number of 0', claims(joined(field(1, 'static_token'), [0x00], scope))],
  // Two different names must not become equal on the way, because names are compared byte for byte.
  [
    'with an API id that is not UTF-8',
    joined(field(1, Buffer.from([0xff])), field(3, field(1, 'static_token'))),
  ],
  [
    'with an account that is not UTF-8',
    claims(joined(field(1, 'static_token'), field(2, field(1, Buffer.from([0xc3, 0x28]))))),
  ],
  [
    'with a surrogate in a project',
    joined(bytes, field(4, joined(field(1, ACCOUNT), field(2, Buffer.from([0xed, 0xa0, 0x80]))))),
  ],
]

describe.each(MALFORMED)('a check %s is refused', (_claim, malformed) => {
  test('alone', async () => {
    expect(await refused(box.ask('check', malformed))).toEqual(NO_MESSAGE)
  })

  test('in a batch, with its index', async () => {
    const batch = joined(field(1, bytes), field(1, malformed))
    const { code, reason, message } = await refused(box.ask('checkBatch', batch))
    expect({ code, reason }).toEqual({ code: NO_MESSAGE.code, reason: NO_MESSAGE.reason })
    expect(message).toMatch(/^checks\[1\]/)
  })
})

test.each(['issue', 'revoke', 'plan', 'checkBatch'])(
  'bytes that are not a message are refused by %s',
  async (method) => {
    for (const malformed of [[0x00], [0x0c], [0x0a, 0x05], [0x0a]])
      expect(await refused(box.ask(method, Buffer.from(malformed)))).toEqual(NO_MESSAGE)
  },
)

test('requests that cannot be decoded are not logged as errors of the sidecar', () => {
  const lines = running.logLines.map((line) => JSON.parse(line) as { level: number; msg: string })
  expect(lines.filter(({ level }) => level >= 50).map(({ msg }) => msg)).toEqual([])
})

test.each([
  ['a number', joined(tag(100, 0), [0x01])],
  ['64 bits', joined(tag(101, 1), [1, 2, 3, 4, 5, 6, 7, 8])],
  ['32 bits', joined(tag(102, 5), [1, 2, 3, 4])],
  ['a string', field(536_870_911, 'of a later version')],
  ['a group', joined(tag(103, 3), field(1, 'inside'), tag(103, 4))],
])('%s in an unknown field is ignored', async (_claim, unknown) => {
  expect(await box.ask('check', joined(unknown, bytes, unknown))).toMatchObject(ALLOWED)
  expect(await box.ask('check', claims(joined(unknown, field(1, 'static_token'), scope)))).toMatchObject(
    ALLOWED,
  )
})

test('a repeated `credentials` field does not hide the first one', async () => {
  // A protobuf reader merges or refuses them. A reader that keeps only the last one would see one credential
  // instead of two.
  const piece = (name: string, value: string) =>
    encoded('CheckRequest', { credentials: { headers: [{ name, value }] } })
  const both = joined(
    field(1, 'balance'),
    piece('X-Auth-Token', 'eyJ.eyJ.x'),
    piece('X-Token', secrets.staticToken),
  )
  const [outcome] = await Promise.allSettled([box.ask('check', both)])
  if (outcome?.status === 'rejected') expect(refusalOf(outcome.reason)).toEqual(NO_MESSAGE)
  else expect(outcome?.value).toMatchObject({ allowed: false, reason: 'REASON_CREDENTIAL_AMBIGUOUS' })
})

describe('sizes', () => {
  const withHeaders = (length: number) => ({
    api: 'balance',
    credentials: { headers: [{ name: 'X-Token', value: 'x'.repeat(length) }] },
  })

  test('a request just below the limit is answered', async () => {
    expect(await box.ask('check', withHeaders(MESSAGE_BYTES_MAX - 64))).toMatchObject({
      allowed: false,
      reason: 'REASON_CREDENTIAL_INVALID',
    })
  })

  test('a request above the limit is refused before it is read', async () => {
    expect(await refused(box.ask('check', withHeaders(MESSAGE_BYTES_MAX)))).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
    })
  })

  test('a credential behind 9,999 headers is read, and one header more is refused', async () => {
    const headers = Array.from({ length: 10_000 }, (_, index) => ({ name: `X-${index}`, value: 'any' }))
    const token = { name: 'X-Token', value: secrets.staticToken }
    const ask = (others: typeof headers) =>
      box.ask('check', { api: 'balance', credentials: { headers: [...others, token] } })
    expect(await ask(headers.slice(1))).toMatchObject(ALLOWED)
    expect(await refused(ask(headers))).toEqual(
      invalid(['credentials.headers', 'expected at most 10000 headers']),
    )
  })

  test('the checks of a batch have at most 100,000 headers in all', async () => {
    const check = (count: number) => ({
      api: 'balance',
      credentials: { headers: Array.from({ length: count }, () => ({ name: 'A', value: '' })) },
    })
    const full = Array.from({ length: 10 }, () => check(10_000))
    expect((await box.ask('checkBatch', { checks: full })).results).toHaveLength(10)
    expect(await refused(box.ask('checkBatch', { checks: [...full, check(1)] }))).toEqual(
      invalid(['checks', 'expected at most 100000 headers in all checks of a batch']),
    )
  })

  const FIELDS = Buffer.alloc(1_000_000, Buffer.from([10, 0]))
  const UNKNOWN = Buffer.alloc(1_000_000, joined(tag(15, 2), Buffer.of(0)))
  test.each<[claim: string, method: string, request: Buffer, most: number]>([
    ['a plan of empty APIs', 'plan', FIELDS, 50_000],
    ['an issue of empty APIs', 'issue', field(4, FIELDS), 50_000],
    ['a revocation of empty tokens', 'revoke', FIELDS, 50_000],
    ['a check of empty APIs', 'check', FIELDS, 50_000],
    ['a check of unknown fields', 'check', UNKNOWN, 50_000],
    ['credentials of unknown fields', 'check', field(2, UNKNOWN), 50_000],
    ['one header of empty names', 'check', field(2, field(1, FIELDS)), 50_000],
    ['a batch of unknown fields', 'checkBatch', UNKNOWN, 316_000],
  ])('%s is refused before all 500,000 fields are read', async (_claim, method, request, most) => {
    expect(await refused(box.ask(method, request))).toEqual(
      invalid(['the request', `expected at most ${most} fields`]),
    )
  })

  test('the largest batch that is allowed has fewer fields than that', async () => {
    const headers = Array.from({ length: 100 }, () => ({ name: 'A', value: '' }))
    const target = { account: ACCOUNT, project: 'alpha' }
    const check = { api: 'balance', credentials: { headers }, target, client_address: '192.0.2.1' }
    const checks = Array.from({ length: 1_000 }, () => check)
    expect((await box.ask('checkBatch', { checks })).results).toHaveLength(1_000)
  })
})
