/** The headers that Envoy's adapter reads: no relevant one is skipped, and most others are. */
import { expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { headersFor } from '../../sidecar/contract/ext-authz/header-filter.ts'
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
])('what becomes of a request depends on the header `$name`: $relevant', ({ name, relevant }) => {
  const filter = headersFor(engine)
  expect(filter.isRelevant(name)).toBe(relevant)
  if (relevant) expect(filter.mayBeRelevant(name.length, name.charCodeAt(2))).toBe(true)
})

test.each(['A', 'Ab', 'Ab-Token', `X-${'a'.repeat(62)}`])(
  'no header of a matrix is skipped: %s',
  (header) => {
    const matrix = {
      ...supportMatrix,
      tokenKinds: supportMatrix.tokenKinds.map((kind) => ({ ...kind, header })),
    }
    const filter = headersFor(compile(matrix))
    for (const name of [header, header.toUpperCase(), header.toLowerCase(), header.replaceAll('-', '_')]) {
      expect(filter.isRelevant(name)).toBe(true)
      const third = `${name}\u0012`.charCodeAt(2)
      expect(filter.mayBeRelevant(name.length, third)).toBe(true)
    }
  },
)

test('headers that most requests have are skipped by their length and third character', () => {
  const usual = ['user-agent', 'accept', 'accept-encoding', 'accept-language', 'content-type', 'x-request-id']
  const { mayBeRelevant } = headersFor(engine)
  expect(usual.filter((name) => mayBeRelevant(name.length, name.charCodeAt(2)))).toEqual([])
})
