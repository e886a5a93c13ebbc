/** The answer to the client of a proxy where its request must not pass. */
import { describe, expect, test } from 'vitest'
import { type Denied, denialOf, failureOf, refusalOf } from '../../engine/denial.ts'
import { CALL_ERRORS, type CallErrorReason, callError } from '../../sidecar/base/call-error.ts'
import { denialAnswer, failureAnswer } from '../../sidecar/proxies/denial-answer.ts'
import { engine } from '../support/matrices/engines.ts'

/** Another credential may help. */
const UNAUTHORIZED: ReadonlySet<string> = new Set([
  ...['CREDENTIAL_MISSING', 'CREDENTIAL_AMBIGUOUS', 'CREDENTIAL_MALFORMED', 'WRONG_HEADER'],
  ...['CREDENTIAL_INVALID', 'CREDENTIAL_EXPIRED', 'CREDENTIAL_REVOKED'],
])

const DENIED: Denied = { reason: 'UNKNOWN_API', message: 'no', accepted: [], rulesDigest: 'sha256:0' }

test('every denial says why, by which rules, what would be accepted, and with 401 in which header', () => {
  const denials = Array.from(engine.decisions()).filter(({ allowed }) => !allowed)
  expect(denials.length).toBeGreaterThan(100)
  for (const decision of denials) {
    const { status, headers, body } = denialAnswer(decision)
    const { reason, message, accepted, rulesDigest } = decision
    expect(status).toBe(UNAUTHORIZED.has(reason) ? 401 : 403)
    expect(JSON.parse(body)).toEqual({ error: { reason, message, accepted } })
    const { 'www-authenticate': challenge, ...others } = Object.fromEntries(headers)
    expect(others).toEqual({
      ...{ 'content-type': 'application/json', 'cache-control': 'no-store' },
      ...{ 'x-portcullis-reason': reason, 'x-portcullis-rules-digest': rulesDigest },
    })
    expect(challenge !== undefined).toBe(status === 401)
  }
})

test.each([
  ['cloud-projects', 'Portcullis header="X-Auth-Token", reason="CREDENTIAL_MISSING"'],
  [
    'balance',
    'Portcullis header="X-Auth-Token", reason="CREDENTIAL_MISSING", Portcullis header="X-Token", reason="CREDENTIAL_MISSING"',
  ],
  ['nosuch', undefined],
])('%s: the challenges name each header once', (api, challenge) => {
  const { headers } = denialAnswer(engine.deny(api, 'CREDENTIAL_MISSING'))
  expect(new Map(headers).get('www-authenticate')).toBe(challenge)
})

test('a challenge names the scheme, where tokens have one before them', () => {
  const accepted = [
    { kind: 'a', header: 'Authorization', scheme: 'Bearer', issuable: true, obtained: 'issue' as const },
    { kind: 'b', header: 'X-Token', issuable: true, obtained: 'issue' as const },
  ]
  const { headers } = denialOf({ ...DENIED, reason: 'CREDENTIAL_INVALID', accepted })
  expect(new Map(headers).get('www-authenticate')).toBe(
    'Portcullis header="Authorization", scheme="Bearer", reason="CREDENTIAL_INVALID", Portcullis header="X-Token", reason="CREDENTIAL_INVALID"',
  )
})

test('where nothing would be accepted, the challenge names the reason alone', () => {
  const { headers } = denialOf({ ...DENIED, reason: 'CREDENTIAL_EXPIRED' })
  expect(new Map(headers).get('www-authenticate')).toBe('Portcullis reason="CREDENTIAL_EXPIRED"')
})

test('a reason that a newer sidecar knows is a denial that no credential helps against', () => {
  expect(denialOf({ ...DENIED, reason: 'UNSPECIFIED' }).status).toBe(403)
})

test('a request that no route has an API for is denied with what is wrong with it', () => {
  expect(refusalOf('NO_ROUTE', 'no route has this path')).toEqual({
    status: 403,
    headers: [
      ['content-type', 'application/json'],
      ['cache-control', 'no-store'],
      ['x-portcullis-reason', 'NO_ROUTE'],
    ],
    body: '{"error":{"reason":"NO_ROUTE","message":"no route has this path","accepted":[]}}',
  })
})

describe('without a decision', () => {
  test.each([
    ['1', 'the request could not be authorized; try again later'],
    [undefined, 'the request could not be authorized; the operator finds the cause in the log'],
  ])('with %s second to wait the client reads: %s', (seconds, message) => {
    expect(JSON.parse(failureOf('INTERNAL', seconds, 'id').body)).toEqual({
      error: { reason: 'INTERNAL', message, request_id: 'id' },
    })
  })

  test.each(Object.entries(CALL_ERRORS))(
    '%s is a 500, or a 503 that says when to try again',
    (reason, row) => {
      const error = callError(reason as CallErrorReason, {} as never)
      const { status, headers, body } = failureAnswer(error)
      const busy = ['UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'CANCELLED'].includes(row.code)
      expect(status).toBe(busy ? 503 : 500)
      expect(new Map(headers).get('retry-after')).toBe(busy ? '1' : undefined)
      expect(JSON.parse(body)).toEqual({ error: { reason, message: expect.any(String) } })
    },
  )

  test('the client learns nothing of the configuration', () => {
    const error = callError('PROFILE_NOT_ALLOWED', { caller: 'the name of a caller' })
    expect(failureAnswer(error).body).not.toContain('caller')
    expect(failureAnswer(new Error('a path or a value'))).toEqual({
      ...failureAnswer(callError('INTERNAL', {})),
      status: 500,
    })
  })

  test('the time to wait is the one of the error', () => {
    const error = callError(
      'LOGIN_THROTTLED',
      { cause: 'x', seconds: 7 },
      { metadata: { retry_after_seconds: '7' } },
    )
    expect(new Map(failureAnswer(error).headers).get('retry-after')).toBe('7')
  })
})
