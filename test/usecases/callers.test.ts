/** The caller of a call, by token or by certificate, and until when. */
import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type Caller, type CallerCredentials, Callers } from '../../sidecar/usecases/callers.ts'
import { outcomeOf } from '../support/sidecar/services.ts'

const EXPIRES_AT_MS = 1_000
const clock = { nowMs: 0 }

const caller = (name: string, change: Partial<Caller> = {}): Caller => ({
  ...{ name, tokenSha256: undefined, certificateName: undefined, profiles: new Set() },
  rights: { everything: false, revoke: false, read: false, follow: false, administer: new Set() },
  ...{ expiresAtMs: undefined, ...change },
})
const digestOf = (token: string) => hash('sha256', token, 'buffer')
const withToken = (name: string, token: string, change: Partial<Caller> = {}) =>
  caller(name, { tokenSha256: digestOf(token).toString('hex'), ...change })

const ALL = [
  caller('nameless'),
  withToken('earlier', 'shared', { expiresAtMs: EXPIRES_AT_MS }),
  withToken('job', '!token~'),
  withToken('later', 'shared'),
  withToken('leaver', 'leaving', { expiresAtMs: EXPIRES_AT_MS }),
  caller('host', { certificateName: 'dns:host.example' }),
  caller('guest', { certificateName: 'dns:guest.example', expiresAtMs: EXPIRES_AT_MS }),
  withToken('both', 'of both', { certificateName: 'dns:both.example' }),
]
const known = () => new Callers(ALL, () => clock.nowMs)

const NOTHING: CallerCredentials = { authorization: [], iamToken: [], certificateNames: [] }
const bearer = (...authorization: string[]): CallerCredentials => ({ ...NOTHING, authorization })
const shown = (...names: string[]): CallerCredentials => ({
  ...NOTHING,
  certificateNames: names.map((name) => `dns:${name}.example` as const),
})

const INVALID =
  'CALLER_TOKEN_INVALID: the caller token is unknown, expired or withdrawn; expected one `authorization: Bearer …`'
const AMBIGUOUS =
  'CLIENT_CERTIFICATE_AMBIGUOUS: the client certificate has names of several callers in the configuration; expected names of one'
const UNKNOWN =
  'CLIENT_CERTIFICATE_UNKNOWN: the client certificate has no name of a caller in the configuration, or that caller expired or was withdrawn'

describe('finding the caller of a call', () => {
  test.each<[claim: string, nowMs: number, presented: CallerCredentials, outcome: string]>([
    ['no credential names no caller', 0, NOTHING, 'nobody'],
    ['a token names its caller', 0, bearer('Bearer !token~'), 'job by token'],
    ['the scheme in small letters', 0, bearer('bearer !token~'), 'job by token'],
    ['a scheme that ends so', 0, bearer('NoBearer !token~'), INVALID],
    ['another scheme', 0, bearer('Basic !token~'), INVALID],
    ['no scheme', 0, bearer('!token~'), INVALID],
    ['a scheme alone', 0, bearer('Bearer '), INVALID],
    ['two spaces', 0, bearer('Bearer  !token~'), INVALID],
    ['something behind the token', 0, bearer('Bearer !token~ more'), INVALID],
    ['the token twice', 0, bearer('Bearer !token~', 'Bearer !token~'), INVALID],
    ['an unknown token', 0, bearer('Bearer token'), INVALID],
    ['until the token expires', EXPIRES_AT_MS - 1, bearer('Bearer leaving'), 'leaver by token'],
    ['from when it expires', EXPIRES_AT_MS, bearer('Bearer leaving'), INVALID],
    ['of two with one token the first', 0, bearer('Bearer shared'), 'earlier by token'],
    ['and the other when that expires', EXPIRES_AT_MS, bearer('Bearer shared'), 'later by token'],
    ['a certificate names its caller', 0, shown('host'), 'host by certificate'],
    ['with the same name twice', 0, shown('host', 'host'), 'host by certificate'],
    ['with an unknown name first', 0, shown('other', 'host'), 'host by certificate'],
    ['with an unknown name last', 0, shown('host', 'other'), 'host by certificate'],
    ['with names of two', 0, shown('host', 'guest'), AMBIGUOUS],
    ['an unknown certificate', 0, shown('other'), 'nobody'],
    ['until the certificate expires', EXPIRES_AT_MS - 1, shown('guest'), 'guest by certificate'],
    ['from when that expires', EXPIRES_AT_MS, shown('guest'), 'nobody'],
    [
      'a token counts before a certificate',
      0,
      { ...shown('host'), ...bearer('Bearer !token~'), certificateNames: shown('host').certificateNames },
      'job by token',
    ],
    [
      'a wrong token is none for a certificate',
      0,
      { ...shown('host'), authorization: ['Bearer wrong'] },
      INVALID,
    ],
    ['beside an IAM token no certificate counts', 0, { ...shown('host'), iamToken: ['eyJ'] }, 'nobody'],
    [
      'beside an IAM token a token counts',
      0,
      { ...bearer('Bearer !token~'), iamToken: ['eyJ'] },
      'job by token',
    ],
  ])('%s: at %d', async (_claim, nowMs, presented, outcome) => {
    clock.nowMs = nowMs
    const found = await outcomeOf(() => known().find(presented))
    expect(typeof found === 'string' ? found : told(found)).toBe(outcome)
    // Where no caller is needed, a wrong one counts as none.
    const or = outcome === AMBIGUOUS || outcome === INVALID ? 'nobody' : outcome
    expect(told(known().findOrNobody(presented))).toBe(or)
  })

  const told = (found: ReturnType<Callers['find']>) =>
    found === undefined ? 'nobody' : `${found.name} by ${found.identifiedBy.type}`

  test('a listener for callers alone needs a token', async () => {
    clock.nowMs = 0
    expect(known().expectToken(['Bearer !token~']).name).toBe('job')
    expect(await outcomeOf(() => known().expectToken([]))).toBe(
      'CALLER_TOKEN_MISSING: every call of this listener needs a caller token: `authorization: Bearer …`',
    )
    expect(await outcomeOf(() => known().expectToken(['Bearer wrong']))).toBe(INVALID)
  })

  test('or a certificate', async () => {
    clock.nowMs = 0
    expect(await outcomeOf(() => known().expectCertificate(shown('host').certificateNames))).toBeUndefined()
    for (const each of [shown(), shown('other')])
      expect(await outcomeOf(() => known().expectCertificate(each.certificateNames))).toBe(UNKNOWN)
  })

  test('the digest of a token names its caller, and no other digest does', () => {
    clock.nowMs = 0
    expect(known().byDigestOrNobody(digestOf('!token~'))?.name).toBe('job')
    expect(known().byDigestOrNobody(digestOf('token'))).toBeUndefined()
    // A fault of the program is not an answer.
    expect(() => known().byDigestOrNobody(Buffer.alloc(3))).toThrow(RangeError)
  })
})

test('a caller is confirmed as they are now, by what identified them', async () => {
  clock.nowMs = 0
  const callers = known()
  const [byToken, byCertificate] = [bearer('Bearer !token~'), shown('host')].map((each) => callers.find(each))
  if (byToken === undefined || byCertificate === undefined) throw new TypeError('they are not there')
  callers.replace(ALL.map((each) => ({ ...each, profiles: new Set(['new']) })))
  for (const each of [byToken, byCertificate])
    expect(callers.confirm(each)).toEqual({ ...each, profiles: new Set(['new']) })
  callers.replace([])
  expect(await outcomeOf(() => callers.confirm(byToken))).toBe(INVALID)
  expect(await outcomeOf(() => callers.confirm(byCertificate))).toBe(UNKNOWN)
})

test('a watcher is notified of each replacement, and all callers are listed', () => {
  const callers = known()
  expect(callers.all).toBe(ALL)
  let told = 0
  callers.watch(() => told++)
  callers.replace([])
  callers.replace(ALL.slice(0, 1))
  expect([told, callers.all.length]).toEqual([2, 1])
})
