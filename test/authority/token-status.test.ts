/** The meaning of the time and the status of a genuine token for a request. */

import { expect, test } from 'vitest'
import { faultOfTime, INVALID, verificationOf } from '../../sidecar/authority/token-status.ts'
import {
  isOver,
  isUnscoped,
  UNSCOPED_KIND,
  type VerifiedToken,
} from '../../sidecar/authority/verified-token.ts'
import type { IpAddress } from '../../sidecar/base/ip-address.ts'
import type { TokenStatus } from '../../sidecar/directory/directory.ts'

const NOW = 1_800_000_000_000
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const TOKEN = {
  ...{ kind: 'static_token', scope: { account: '1' }, subject: { id: 'u', name: 'n', type: 'user' } },
  ...{ tokenId: 't', issuedAtMs: NOW, expiresAtMs: undefined },
} as VerifiedToken

test.each<
  [what: string, times: Partial<VerifiedToken>, fault: string | undefined, shown: string | undefined]
>([
  ['has no end', {}, undefined, undefined],
  ['was issued by a clock that is a minute ahead', { issuedAtMs: NOW + MINUTE_MS }, undefined, undefined],
  [
    'was issued by one that is further ahead',
    { issuedAtMs: NOW + MINUTE_MS + 1 },
    'CREDENTIAL_INVALID',
    'CREDENTIAL_INVALID',
  ],
  ['ends in a moment', { expiresAtMs: NOW + 1 }, undefined, undefined],
  ['ends now', { expiresAtMs: NOW }, 'CREDENTIAL_EXPIRED', undefined],
  ['ended within two days', { expiresAtMs: NOW - 2 * DAY_MS + 1 }, 'CREDENTIAL_EXPIRED', undefined],
  ['ended two days ago', { expiresAtMs: NOW - 2 * DAY_MS }, 'CREDENTIAL_EXPIRED', 'CREDENTIAL_EXPIRED'],
])('a token that %s: the fault is %s and %s', (_what, times, fault, shown) => {
  const token = { ...TOKEN, ...times }
  const expected = (reason: string | undefined) => {
    if (reason === undefined) return undefined
    return reason === 'CREDENTIAL_INVALID' ? INVALID : { ok: false, reason, token }
  }
  expect(faultOfTime(token, NOW, false)).toEqual(expected(fault))
  expect(faultOfTime(token, NOW, true)).toEqual(expected(shown))
  expect(isOver(token, NOW)).toBe(fault !== undefined)
})

test('a token without a time is invalid, and shows none', () => {
  expect(INVALID).toEqual({ ok: false, reason: 'CREDENTIAL_INVALID' })
})

test.each<[active: boolean, addresses: string[], from: IpAddress | undefined, reason: string | undefined]>([
  [true, [], undefined, undefined],
  [true, ['192.0.2.0/24'], '192.0.2.7', undefined],
  [true, ['192.0.2.0/24'], '198.51.100.7', 'ADDRESS_NOT_ALLOWED'],
  [true, ['192.0.2.0/24'], undefined, 'ADDRESS_NOT_ALLOWED'],
  [false, [], undefined, 'CREDENTIAL_REVOKED'],
  [false, ['192.0.2.0/24'], '198.51.100.7', 'CREDENTIAL_REVOKED'],
])('a token that is active (%s), allowed from %j, from %s: %s', (active, addresses, from, reason) => {
  const status = { active, addresses } as unknown as TokenStatus
  expect(verificationOf(TOKEN, status, from)).toEqual(
    reason === undefined ? { ok: true, token: TOKEN } : { ok: false, reason, token: TOKEN },
  )
})

test('a token is bound to a scope, but for those of one kind', () => {
  expect([TOKEN, { kind: UNSCOPED_KIND }, { kind: '' }].map(isUnscoped)).toEqual([false, true, false])
  expect(UNSCOPED_KIND).toContain('.')
})
