/**
 * The sidecar's memory ends while its machine sleeps, although the monotonic clock stands still then.
 */
import { createSecretKey } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { HubChanges } from '../../sidecar/authority/hub/hub-changes.ts'
import { KeyRing, rotateKeys } from '../../sidecar/authority/keys.ts'
import { RecentPasswords } from '../../sidecar/authority/recent-passwords.ts'
import { UpstreamVerifier } from '../../sidecar/authority/upstream/upstream-verifier.ts'
import { NotifiedChanges } from '../../sidecar/directory/feed/notified-changes.ts'
import { newFolder } from '../support/suite/resources.ts'

const MINUTE_MS = 60_000
const BOUND_MS = 30_000

afterEach(() => vi.restoreAllMocks())

/** The wall clock goes on by this, and no other one. */
function sleep(ms: number): void {
  const nowMs = Date.now()
  vi.spyOn(Date, 'now').mockReturnValue(nowMs + ms)
}

type Remembers = () => unknown

test.each<[what: string, remember: () => Remembers | Promise<Remembers>]>([
  [
    'that it misses no change of PostgreSQL',
    async () => {
      const record = { sequence: 1, at_ms: 1, account: 'a', touches: '' }
      const ask = async () => [record]
      const changes = new NotifiedChanges({ ask, has: async () => true, stalenessMs: BOUND_MS })
      await changes.look()
      return () => changes.moment()
    },
  ],
  [
    'that it misses no change of a hub',
    () => {
      const changes = new HubChanges({ stalenessMs: BOUND_MS })
      changes.begin()
      const position = { sequence: 1, atMs: 1 }
      changes.hear({ position, touched: [undefined], validForMs: BOUND_MS, sentAtMs: 1, basis: 'keys' })
      return () => changes.moment()
    },
  ],
  [
    'which keys there are',
    () => {
      const path = join(newFolder(), 'signing-keys.json')
      const ring = new KeyRing(path, Date.now(), { onRefused: () => {}, pollMs: BOUND_MS })
      const { length } = ring.keys
      rotateKeys(path, Date.now() + MINUTE_MS, MINUTE_MS)
      return () => ring.keys.length === length
    },
  ],
  [
    'that a password was right',
    async () => {
      const passwords = new RecentPasswords(BOUND_MS, () => createSecretKey(Buffer.alloc(32)))
      let asked = 0
      const check = () => passwords.check(['password'], '', async () => asked++ === 0)
      await check()
      return check
    },
  ],
  [
    'that an upstream vouches for a token',
    async () => {
      const scope = { account: '1', project: undefined }
      const times = { issuedAtMs: Date.now(), expiresAtMs: Date.now() + 10 * MINUTE_MS }
      const described = { ...{ tokenId: 't', scope, roles: [], ...times }, subject: { id: 'u', name: 'u' } }
      const verifier = new UpstreamVerifier({
        authority: { name: 'up', validate: async () => ({ type: 'genuine', described }) },
        ...{ cacheMs: BOUND_MS, negativeCacheMs: BOUND_MS, tokenPrefixes: [], vouchesFor: () => true },
        ownToken: async () => ({ value: 'own' }),
        onUnknown: () => undefined,
        events: { onRefused: () => {}, onForeignAccount: () => {} },
        now: () => times.issuedAtMs,
      } as never)
      await verifier.ask('token', 'digest', new Map())
      return () => verifier.known('token', 'digest', new Map())
    },
  ],
])('the sidecar does not remember over a sleep %s', async (_what, remember) => {
  const remembers = await remember()
  expect(await remembers()).toBeTruthy()
  sleep(2 * BOUND_MS)
  expect(await remembers()).toBeFalsy()
})
