/** The headers that Envoy's adapter reads: no relevant one is skipped, and most others are. */
import { expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import {
  EVERY_HEADER,
  type HeaderFilter,
  headersFor,
} from '../../sidecar/contract/ext-authz/header-filter.ts'
import { relevanceTo } from '../../sidecar/proxies/identity-headers.ts'
import { engine } from '../support/matrices/engines.ts'

test.each([
  ...['x-auth-token', 'X-Auth-Token', 'x_auth-token', 'x-token', 'x-forwarded-for', 'x_portcullis_a'].map(
    (name) => ({ name, relevant: true }),
  ),
  ...['connection', 'Connection'].map((name) => ({ name, relevant: true })),
  ...['', 'x', 'content-type', 'x-request-id', 'authorization', 'x-portcullis', ':authority'].map((name) => ({
    name,
    relevant: false,
  })),
])('the outcome of a request depends on the header `$name`: $relevant', ({ name, relevant }) => {
  const filter = headersFor(engine)
  expect(filter.isRelevant(name)).toBe(relevant)
  if (relevant) expect(filter.mayBeRelevant(name.length, name.charCodeAt(2))).toBe(true)
})

/** The shipped matrix with another header for all kinds. */
const engineWith = (header: string) =>
  compile({
    ...supportMatrix,
    tokenKinds: supportMatrix.tokenKinds.map((kind) => ({ ...kind, header })),
  })

const mayBe = ({ mayBeRelevant }: HeaderFilter, name: string) =>
  mayBeRelevant(name.length, `${name}\u0012`.charCodeAt(2))

test.each(['A', 'Ab', 'Ab-Token', `X-${'a'.repeat(62)}`, `X-${'a'.repeat(63)}`])(
  'no header of a matrix is skipped: %s',
  (header) => {
    const filter = headersFor(engineWith(header))
    for (const name of [header, header.toUpperCase(), header.toLowerCase(), header.replaceAll('-', '_')]) {
      expect(filter.isRelevant(name)).toBe(true)
      expect(mayBe(filter, name)).toBe(true)
    }
  },
)

test.each<[what: string, key: Parameters<typeof headersFor>[1], further: string[]]>([
  ['nothing else', undefined, []],
  ['the id of the request', { withId: true }, ['X-Request-Id']],
  ['the headers of a shadow matrix', { shadow: engineWith('Y-Other-Token') }, ['Y-Other-Token']],
  ['both', { withId: true, shadow: engineWith('Y-Other-Token') }, ['X-Request-Id', 'y-other-token']],
])('beside the headers of the matrix, %s is relevant', (_what, key, further) => {
  const filter = headersFor(engine, key)
  const candidates = ['X-Request-Id', 'Y-Other-Token', 'y-other-token', 'Y-Third-Token']
  for (const name of candidates) {
    const expected = further.some((each) => each.toLowerCase() === name.toLowerCase())
    expect([name, filter.isRelevant(name), mayBe(filter, name)]).toEqual([name, expected, expected])
  }
  expect(filter.isRelevant('X-Auth-Token') && mayBe(filter, 'X-Auth-Token')).toBe(true)
  // Questions of other calls in between change nothing, and a call in a row gets the same.
  const third = engineWith('Y-Third-Token')
  for (const other of [
    { ...key, withId: key?.withId !== true },
    { ...key, shadow: third },
  ]) {
    expect(headersFor(engine, other).isRelevant('Y-Third-Token')).toBe(other.shadow === third)
    const again = headersFor(engine, key)
    expect(candidates.map(again.isRelevant)).toEqual(candidates.map(filter.isRelevant))
    expect(headersFor(engine, key)).toBe(again)
  }
})

test('a header is skipped where none that is relevant has its length and third character', () => {
  const { mayBeRelevant } = headersFor(engine)
  const places = [...relevanceTo(engine).names].map((name) => `${name.length} ${name.charAt(2)}`)
  for (let length = 0; length <= 66; length++)
    for (const third of 'abcdefghijklmnopqrstuvwxyz0123456789-:.') {
      // Long names are looked at whole, and so are those that may say who sent the request.
      const expected = length < 3 || length > 64 || third === 'p' || places.includes(`${length} ${third}`)
      expect([length, third, mayBeRelevant(length, third.charCodeAt(0))]).toEqual([length, third, expected])
    }
})

test('where routes may look at any header, none is skipped', () => {
  for (const name of ['', 'accept', 'x-request-id'])
    expect(EVERY_HEADER.isRelevant(name) && mayBe(EVERY_HEADER, name)).toBe(true)
})
