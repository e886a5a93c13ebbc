/** The page's treatment of a sidecar that does not show its rules. */
import { expect, test } from 'vitest'
import { refusalOf } from '../../console/model/refusal.ts'

test.each<[claim: string, status: number, body: unknown, refusal: object]>([
  [
    'a credential is missing, and one can log in',
    401,
    { reason: 'CALLER_TOKEN_MISSING', message: 'a', controlPanel: true },
    { needsCredential: true, message: 'a', controlPanel: true },
  ],
  [
    'this one may not',
    403,
    { message: 'b', controlPanel: false },
    { needsCredential: false, message: 'b', controlPanel: false },
  ],
  [
    'nothing says that one can log in',
    401,
    { message: 'c' },
    { needsCredential: true, message: 'c', controlPanel: false },
  ],
])('%s', (_claim, status, body, refusal) => {
  expect(refusalOf(status, body)).toEqual(refusal)
})

test.each<[claim: string, status: number, body: unknown]>([
  ['another status', 503, { message: 'busy', controlPanel: true }],
  ['of a proxy in between', 401, { error: 'log in' }],
  ['no object', 401, null],
])('%s is not a refusal of a sidecar', (_claim, status, body) => {
  expect(() => refusalOf(status, body)).toThrow(`status ${status}`)
})
