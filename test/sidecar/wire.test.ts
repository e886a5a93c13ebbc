/** What the sidecar does with bytes that no generated code would send: it refuses them, says so, and goes on. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BlackBox, type Message, type Refusal, refusalOf, refused } from '../support/black-box.ts'
import { encoded, field, joined, tag, varint } from '../support/bytes.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar.ts'

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
  ['cut in the middle', bytes.subarray(0, -1)],
  ['cut in a tag', joined(bytes, [0x80])],
  ['with a field number of 0', joined(bytes, [0x00])],
  ['with a field number of 0 first', joined([0x00], bytes)],
  ['with an end of a group that never began', joined(bytes, tag(100, 4))],
  ['with a group that another one ends', joined(bytes, tag(100, 3), tag(101, 4))],
  ['with a group that never ends', joined(bytes, tag(100, 3))],
  ['with groups a thousand deep', joined(bytes, nested(1_000))],
  ['with the wire type 6', joined(bytes, tag(100, 6))],
  ['with the wire type 7', joined(bytes, tag(100, 7))],
  ['with a field number beyond 32 bits', joined(bytes, [0xfa, 0xff, 0xff, 0xff, 0x7f, 0x00])],
  ['whose API id is a number', joined(bytes, tag(1, 0), [0x07])],
  ['with a string longer than what follows', joined(bytes, tag(100, 2), varint(1_000_000_000), [1, 2, 3])],
  [
    'whose claims are longer than what follows',
    joined(field(1, 'balance'), tag(3, 2), [100], field(1, 'static_token')),
  ],
  // A message inside ends where the one around it says; what runs over would be read as something else.
  [
    'whose claims hold a kind that runs over their end',
    joined(field(1, 'balance'), tag(3, 2), [2], field(1, 'static_token')),
  ],
  [
    'whose claims have a stray end of group in their midst',
    claims(joined(field(1, 'static_token'), tag(9, 4), scope)),
  ],
  ['whose claims have a field number of 0', claims(joined(field(1, 'static_token'), [0x00], scope))],
  // Two names that differ must not become one on the way: names are compared byte for byte.
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
  'bytes that are no message are refused by %s',
  async (method) => {
    for (const malformed of [[0x00], [0x0c], [0x0a, 0x05], [0x0a]])
      expect(await refused(box.ask(method, Buffer.from(malformed)))).toEqual(NO_MESSAGE)
  },
)

test('requests that cannot be read are no errors of the sidecar in its log', () => {
  const lines = running.logLines.map((line) => JSON.parse(line) as { level: number; msg: string })
  expect(lines.filter(({ level }) => level >= 50).map(({ msg }) => msg)).toEqual([])
})

test.each([
  ['a number', joined(tag(100, 0), [0x01])],
  ['64 bits', joined(tag(101, 1), [1, 2, 3, 4, 5, 6, 7, 8])],
  ['32 bits', joined(tag(102, 5), [1, 2, 3, 4])],
  ['a string', field(536_870_911, 'of a later version')],
  ['a group', joined(tag(103, 3), field(1, 'inside'), tag(103, 4))],
])('%s in an unknown field is passed over', async (_claim, unknown) => {
  expect(await box.ask('check', joined(unknown, bytes, unknown))).toMatchObject(ALLOWED)
  expect(await box.ask('check', claims(joined(unknown, field(1, 'static_token'), scope)))).toMatchObject(
    ALLOWED,
  )
})

test('credentials that arrive in two pieces do not hide the first one', async () => {
  // A protobuf reader joins them, or refuses them; one that keeps the last sees one credential of two.
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

  test('a request just below the limit is read', async () => {
    expect(await box.ask('check', withHeaders(MESSAGE_BYTES_MAX - 64))).toMatchObject({
      allowed: false,
      reason: 'REASON_CREDENTIAL_MALFORMED',
    })
  })

  test('a request beyond the limit is refused before it is read', async () => {
    expect(await refused(box.ask('check', withHeaders(MESSAGE_BYTES_MAX)))).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
    })
  })

  test('ten thousand headers and the credential behind them are read', async () => {
    const headers = Array.from({ length: 10_000 }, (_, index) => ({ name: `X-${index}`, value: 'any' }))
    const credentials = { headers: [...headers, { name: 'X-Token', value: secrets.staticToken }] }
    expect(await box.ask('check', { api: 'balance', credentials })).toMatchObject(ALLOWED)
  })
})

test('whatever the bytes, no unary call allows anything, and each ends with a status that is meant', async () => {
  const statuses: readonly Refusal['code'][] = [
    'INVALID_ARGUMENT',
    'UNAUTHENTICATED',
    'PERMISSION_DENIED',
    'FAILED_PRECONDITION',
    'NOT_FOUND',
  ]
  // Random bytes hardly ever get past the first tag, so most are genuine requests that were mutated; no
  // change of a few bytes makes a denied claim into one that is allowed.
  const denied = { api: 'reports', token: { kind: 'iam_token_project_scoped', scope: { account: ACCOUNT } } }
  const requests = [
    encoded('CheckRequest', denied),
    encoded('CheckBatchRequest', { checks: [denied, denied] }),
    encoded('IssueRequest', { profile: 'job', scope: { account: ACCOUNT } }),
    encoded('RevokeRequest', { token_id: 'A'.repeat(22) }),
    encoded('PlanRequest', { apis: ['iam', 'cdn'] }),
  ]
  const mutated = fc
    .record({
      request: fc.constantFrom(...requests),
      at: fc.nat(),
      by: fc.integer({ min: 1, max: 255 }),
      cut: fc.nat({ max: 3 }),
      behind: fc.uint8Array({ maxLength: 4 }),
    })
    .map(({ request, at, by, cut, behind }) => {
      const changed = Buffer.from(request)
      changed[at % changed.length] = ((changed[at % changed.length] ?? 0) + by) % 256
      return joined(changed.subarray(0, changed.length - cut), behind)
    })
  const anyBytes = fc.oneof(
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 80 }) },
    { weight: 3, arbitrary: mutated },
  )
  await fc.assert(
    fc.asyncProperty(
      anyBytes,
      fc.constantFrom('check', 'checkBatch', 'issue', 'revoke', 'plan'),
      async (request, method) => {
        const [outcome] = await Promise.allSettled([box.ask(method, Buffer.from(request))])
        if (outcome?.status === 'rejected') expect(statuses).toContain(refusalOf(outcome.reason).code)
        else expect(JSON.stringify(outcome?.value)).not.toContain('"allowed":true')
      },
    ),
    { numRuns: 1_500 },
  )
  expect(await box.ask('check', good)).toMatchObject(ALLOWED)
})
