/**
 * A search that finds nothing proves nothing: it finds every form of a secret, and no secret where there is
 * none.
 */
import { expect, test } from 'vitest'
import { shownIn } from './search.ts'

const SECRET = 'cnry"9f3b/K8s+Q2w_e7rT-y5Uz'
const SECRETS = { it: SECRET, other: 'another-secret-of-somebody-else' }
const bytes = Buffer.from(SECRET)

test.each<[form: string, output: string | Buffer]>([
  ['as it is', `a ${SECRET} b`],
  ['as bytes', Buffer.concat([Buffer.from([0, 255]), bytes])],
  ['a piece of twelve characters', `a ${SECRET.slice(7, 19)}…`],
  ['base64', bytes.toString('base64')],
  ['base64 of a message around it', Buffer.from(`\u0001\u0002${SECRET}\u0003`).toString('base64')],
  ['base64 behind other letters', `Bearer/${Buffer.from(`a${SECRET}`).toString('base64')}`],
  ['base64url', Buffer.from(`ab${SECRET}`).toString('base64url')],
  ['hex', `0x${bytes.toString('hex')}`],
  ['hex in capitals', bytes.toString('hex').toUpperCase()],
  ['hex with separators', (bytes.toString('hex').match(/../g) ?? []).join(' ')],
  ['percent-encoded', `?token=${encodeURIComponent(SECRET)}`],
  ['every byte percent-encoded', `%${(bytes.toString('hex').match(/../g) ?? []).join('%')}`],
  ['JSON', JSON.stringify({ msg: SECRET })],
  ['JSON in JSON', JSON.stringify(JSON.stringify({ msg: SECRET.slice(5) }))],
  [
    'escapes of JSON',
    [...SECRET].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  ],
])('a secret is found: %s', (_form, output) => {
  expect(shownIn(output, SECRETS)).toEqual(['it'])
})

test.each([
  ['nothing', ''],
  ['a piece that is shorter', SECRET.slice(0, 11)],
  ['another text', 'the caller token is unknown, expired or withdrawn'],
  ['another base64', Buffer.from('the caller token is unknown').toString('base64')],
])('nothing is found in %s', (_what, output) => {
  expect(shownIn(output, SECRETS)).toEqual([])
})
