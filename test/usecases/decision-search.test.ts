/** A token that is looked for in the decision log is copied from anywhere, often with its header. */
import { expect, test } from 'vitest'
import { bareToken } from '../../sidecar/usecases/decision-search.ts'

test.each([
  ['token', 'token'],
  [' \ttoken\n', 'token'],
  ['X-Auth-Token: token', 'token'],
  ['X-Token2:token', 'token'],
  ['x:  token', 'token'],
  ['Bearer token', 'token'],
  ['bearer   token', 'token'],
  ['Authorization: Bearer token', 'token'],
  ['Bearertoken', 'Bearertoken'],
  ['Bearer', 'Bearer'],
  ['no Bearer token', 'no Bearer token'],
  ['to X-Token: token', 'to X-Token: token'],
  ['2X-Token: token', '2X-Token: token'],
  ['a: b: token', 'b: token'],
])('%j is %j', (copied, token) => {
  expect(bareToken(copied)).toBe(token)
})
