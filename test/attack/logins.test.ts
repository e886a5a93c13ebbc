/** Logins under attack: guesses do not keep a job, an administrator or the right password waiting. */
import { describe, expect, test } from 'vitest'
import {
  attackedSidecar,
  RATIO_MAX,
  ratio,
  refusals,
  report,
  timesOf,
} from '../support/attack/attack-scene.ts'
import type { Attack } from '../support/attack/attacker.ts'
import { scenario } from '../support/attack/scenario.ts'
import { ACCOUNT, OTHER_ACCOUNT } from '../support/sidecar/sidecar.ts'

const FLOODS: readonly (readonly [claim: string, attack: Attack])[] = [
  ['400 anonymous logins in flight', { type: 'logins', inFlight: 400, account: ACCOUNT }],
  [
    '400 logins of the user of the profile in flight',
    { type: 'logins', inFlight: 400, account: ACCOUNT, userName: 'alpha' },
  ],
]

describe.each(FLOODS)('%s', (claim, attack) => {
  test('refuse no profile, no replacement of a password, and hold up no check and no revocation', async () => {
    const scene = await attackedSidecar()
    const { also } = await scenario(scene, claim, attack, () =>
      refusals(40, () =>
        scene.operator.directory.replaceServiceUserPassword({ account: OTHER_ACCOUNT, name: 'stranger' }),
      ),
    )
    expect(also).toEqual([])
  })
})

const LOOPS = {
  type: 'logins',
  inFlight: 20,
  account: ACCOUNT,
  userName: 'account',
  ownConnections: true,
} as const

describe.each<[claim: string, attack: Attack, settings?: object]>([
  ['20 loops of one wrong password of a user', { ...LOOPS, password: 'wrong' }],
  ['20 loops of passwords like ours of a user', LOOPS],
  [
    '20 loops of passwords like ours, where no result is remembered',
    LOOPS,
    { passwords: { remember_ms: 0 } },
  ],
])('%s, from the same place', (claim, attack, settings) => {
  test('lock out no user with the right password', async () => {
    const scene = await attackedSidecar(settings)
    const { secrets, anybody } = scene
    const password = { userName: 'account', account: ACCOUNT, password: secrets.passwordOf('account') }
    const login = () => anybody.issue({ password, scope: { account: ACCOUNT } })
    const quiet = await timesOf(during(1_000), login)
    const { also } = await scenario(scene, claim, attack, () => timesOf(during(4_000), login))
    report(claim, {
      'right logins': `${also.count - also.failures.length} of ${also.count}`,
      'longest login': ratio(also.longest, quiet.longest),
    })
    expect(also.failures).toEqual([])
    expect(also.longest / quiet.longest).toBeLessThan(10 * RATIO_MAX)
  })
})

/** Whether the time has not yet passed. */
function during(forMs: number): () => boolean {
  const end = performance.now() + forMs
  return () => performance.now() < end
}

test('rotating names does not evade the throttle, and leaves a trace in the log', async () => {
  const scene = await attackedSidecar()
  const attack: Attack = { type: 'logins', inFlight: 50, account: ACCOUNT, password: 'wrong' }
  const { outcome } = await scenario(scene, '50 loops with another name each time', attack)
  const tried = outcome['16 the name of the user or the password is wrong'] ?? 0
  report('with another name each time', { 'passwords tried': tried })
  // 100 failures, those that were in flight with the last of them, and one for each pause.
  expect(tried).toBeLessThan(200)
  expect(scene.log().find(({ msg }) => String(msg).startsWith('a login failed'))).toMatchObject({
    reason: 'LOGIN_FAILED',
    source: 'this machine',
    address: '127.0.0.1',
    protocol: 'grpc',
  })
})

test.each(['gRPC', 'HTTP'])('200 logins of one user at once over %s all succeed', async (protocol) => {
  const fresh = await attackedSidecar()
  const password = { userName: 'alpha', account: ACCOUNT, password: fresh.secrets.passwordOf('alpha') }
  const scope = { account: ACCOUNT, project: 'alpha' }
  const overHttp = async () => {
    const response = await fetch(`http://${fresh.served.ready.http}/identity/v3/auth/tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        auth: {
          identity: {
            methods: ['password'],
            password: { user: { name: 'alpha', domain: { name: ACCOUNT }, password: password.password } },
          },
          scope: { project: { name: 'alpha', domain: { name: ACCOUNT } } },
        },
      }),
    })
    if (response.status !== 201) throw new Error(`status ${response.status}`)
  }
  const overGrpc = () => fresh.anybody.issue({ password, scope })
  const refused = await refusals(200, protocol === 'gRPC' ? overGrpc : overHttp)
  report(`a fleet over ${protocol}`, { tokens: `${200 - refused.length} of 200` })
  expect(refused).toEqual([])
})
