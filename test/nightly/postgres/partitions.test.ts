/**
 * Partitions between a host and PostgreSQL while a token is revoked on another host: beyond the staleness
 * bound the host no longer allows the token. By hand, for as long as you like: PARTITIONS=24 npx vitest run
 * --config vitest.interop.config.ts test/nightly/postgres/partitions.test.ts
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { OpenedAuthority } from '../../../sidecar/authority/open-authority.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { type Host, startHost } from '../../support/directory/host.ts'
import { ask, issueTo, newScene, openAuthority } from '../../support/directory/scene.ts'
import { decodedPart } from '../../support/identity/signed-token.ts'
import { randomFrom } from '../../support/inputs/random.ts'
import { PostgresProxy } from '../../support/postgres/proxy.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { TESTER } from '../../support/sidecar/actor.ts'
import { eventually, newFolder } from '../../support/suite/resources.ts'

const programs = inject('postgres')
const PARTITIONS = Number(process.env.PARTITIONS ?? 12)
const STALENESS_MS = 1_000
const TIMEOUT_MS = 300

/**
 * How a partition begins and ends, in turn. The last one is the worst: no side notices, and only
 * notifications are missing.
 */
const KINDS: readonly (readonly [what: string, cut: (proxy: PostgresProxy, cut: boolean) => void])[] = [
  ['silence', (proxy, cut) => proxy.goSilent(cut)],
  ['no notifications', (proxy, cut) => proxy.refuseListeners(cut)],
]

describe.skipIf(!programs.ok)('a host behind a partition', () => {
  let server: PostgresServer
  let proxy: PostgresProxy
  let authority: OpenedAuthority
  let host: Host
  beforeAll(async () => {
    if (!programs.ok) return
    server = await PostgresServer.start(programs.folder)
    proxy = await PostgresProxy.start(server.port)
    const url = await server.newDatabase()
    const [here, there] = [newFolder(), newFolder()]
    authority = await openAuthority(here, {
      url: new Secret(url),
      stalenessMs: 3_600_000,
      poolSize: 5,
      timeoutMs: 5_000,
    })
    for (const file of ['signing-keys.json', 'static-token-pepper'])
      copyFileSync(join(here, file), join(there, file))
    host = await startHost(there, {
      PORTCULLIS_DIRECTORY_URL: server.url(new URL(url).pathname.slice(1), { port: proxy.port }),
      PORTCULLIS_DIRECTORY_STALENESS_MS: String(STALENESS_MS),
      PORTCULLIS_DIRECTORY_TIMEOUT_MS: String(TIMEOUT_MS),
    })
  })
  afterAll(async () => {
    await host?.stop()
    await authority?.close()
    await proxy?.close()
    await server?.remove()
  })

  /** An answer of the host, or the reason why there is none. */
  const answerTo = (token: string) =>
    ask(host, 'account', token).catch((error: { reason?: string }) => String(error.reason))

  test(`${PARTITIONS} times: a revoked token is allowed within the bound alone`, { timeout: 0 }, async () => {
    const random = randomFrom(PARTITIONS)
    const { account, password } = await newScene(authority)
    const stale: number[] = []
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const [, cut] = KINDS[partition % KINDS.length] ?? []
      const token = await issueTo(authority, account, password)
      await eventually(async () => (await answerTo(token)) === 'ALLOWED')
      cut?.(proxy, true)
      await delay(random() * STALENESS_MS)
      await answerTo(token)
      await authority.administration.directory.change(TESTER, (change) =>
        change.revoke(String(decodedPart(token, 1).jti), account),
      )
      const revokedAtMs = performance.now()
      let allowedLastMs = 0
      for (;;) {
        const askedAtMs = performance.now()
        const answer = await answerTo(token)
        expect(['ALLOWED', 'CREDENTIAL_REVOKED', 'DIRECTORY_UNAVAILABLE']).toContain(answer)
        if (answer === 'ALLOWED') allowedLastMs = askedAtMs - revokedAtMs
        // A question that was asked beyond the bound.
        if (askedAtMs - revokedAtMs > 1.5 * STALENESS_MS) break
        await delay(5)
      }
      stale.push(allowedLastMs)
      cut?.(proxy, false)
      await eventually(async () => (await answerTo(token)) === 'CREDENTIAL_REVOKED')
    }
    process.stderr.write(
      `interop: last allowed after the revocation, bound ${STALENESS_MS} ms: ${stale.map(Math.round).join(', ')} ms\n`,
    )
    expect(Math.max(...stale)).toBeLessThanOrEqual(STALENESS_MS)
    // Partitions hid revocations: otherwise the bound was never used.
    expect(Math.max(...stale)).toBeGreaterThan(0)
  })
})
