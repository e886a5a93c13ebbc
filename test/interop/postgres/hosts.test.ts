/** Hosts that share a directory on PostgreSQL. Each one is a real sidecar with its own data folder. */
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { OpenedAuthority } from '../../../sidecar/authority/open-authority.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { BlackBox } from '../../support/contract/black-box.ts'
import { type Host, startHost } from '../../support/directory/host.ts'
import { ask, DENYING, issueTo, newScene, openAuthority } from '../../support/directory/scene.ts'
import { PostgresProxy } from '../../support/postgres/proxy.ts'
import { CANARY, PostgresServer } from '../../support/postgres/server.ts'
import { connect } from '../../support/sidecar/client.ts'
import { HANGS_MS, newFolder } from '../../support/suite/resources.ts'

const programs = inject('postgres')
const REVOCATIONS = 50
/** Short enough for a test to wait for, and long enough for two checks on a busy machine. */
const STALENESS_MS = 5_000
const TIMEOUT_MS = 1_000

describe.skipIf(!programs.ok)('hosts that share a directory', () => {
  const folders: string[] = []
  let server: PostgresServer
  let proxy: PostgresProxy
  let url: string
  /** The authority of host A in this process, for changes that the contract has no call for. */
  let authority: OpenedAuthority
  let a: Host
  /** Receives notifications, and depends on them, because its staleness bound is an hour. */
  let b: Host
  /** Connects to PostgreSQL through the proxy, and has a short staleness bound. */
  let c: Host

  /** Starts a host with the keys and the pepper of the first host. */
  async function newHost(directory: string, stalenessMs: number): Promise<Host> {
    const data = newData()
    return startHost(data, {
      PORTCULLIS_DIRECTORY_URL: directory,
      PORTCULLIS_DIRECTORY_STALENESS_MS: String(stalenessMs),
      PORTCULLIS_DIRECTORY_TIMEOUT_MS: String(TIMEOUT_MS),
      PORTCULLIS_HEALTH_ADDRESS: '127.0.0.1:0',
    })
  }

  function newData(): string {
    const folder = newFolder()
    folders.push(folder)
    const [first] = folders
    if (first !== undefined && first !== folder)
      for (const file of ['signing-keys.json', 'static-token-pepper'])
        copyFileSync(join(first, file), join(folder, file))
    return folder
  }

  beforeAll(async () => {
    if (!programs.ok) return
    server = await PostgresServer.start(programs.folder)
    proxy = await PostgresProxy.start(server.port)
    url = await server.newDatabase()
    authority = await openAuthority(newData(), {
      url: new Secret(url),
      stalenessMs: 3_600_000,
      poolSize: 5,
      timeoutMs: 60_000,
    })
    const overProxy = server.url(new URL(url).pathname.slice(1), { port: proxy.port })
    ;[a, b, c] = await Promise.all([
      newHost(url, 3_600_000),
      newHost(url, 3_600_000),
      newHost(overProxy, STALENESS_MS),
    ])
  })

  afterAll(async () => {
    const logs = [a, b, c].map((host) => host?.log() ?? '').join('')
    const ends = await Promise.all([a, b, c].map((host) => host?.stop()))
    await authority?.close()
    await proxy?.close()
    await server?.remove()
    if (!programs.ok) return
    expect(ends).toEqual([0, 0, 0])
    expect(logs).not.toContain(CANARY)
  })

  /**
   * Waits until the host has received the notifications of all changes so far, so that they do not clear its
   * cache later.
   */
  async function caughtUp(host: Host): Promise<void> {
    const { account, password } = await newScene(authority)
    for (;;) {
      const value = await issueTo(authority, account, password)
      const askedAtMs = performance.now()
      expect(await ask(host, 'account', value)).toBe('ALLOWED')
      await a.client.revoke({ value })
      await until(async () => (await ask(host, 'account', value)) === 'CREDENTIAL_REVOKED')
      // Otherwise the status may have expired instead.
      if (performance.now() - askedAtMs < STALENESS_MS) return
    }
  }

  /** Waits until the host answers from memory again, which begins with its next question. */
  async function remembers(host: Host): Promise<void> {
    await until(async () => {
      const text = await (await fetch(`http://${host.health}/metrics`)).text()
      const age = /^portcullis_directory_known_age_seconds (\S+)$/m.exec(text)?.[1]
      return Number(age) < STALENESS_MS / 2_000
    })
  }

  test('a token that one host issues is valid on the others', async () => {
    const { account, password, tokens } = await newScene(authority)
    const issued = await a.client.issue({
      password: { userName: 'robot', account, password },
      scope: { account },
    })
    for (const host of [a, b, c]) {
      expect(await ask(host, 'account', issued.value)).toBe('ALLOWED')
      for (const sort of ['account', 'project', 'static'] as const)
        expect(await ask(host, sort, tokens[sort])).toBe('ALLOWED')
    }
  })

  test.each(DENYING)(
    '%s on one host: another host denies before its cache expires',
    async (_change, sort, reason, apply) => {
      const scene = await newScene(authority)
      expect(await ask(b, sort, scene.tokens[sort])).toBe('ALLOWED')
      await apply(authority, scene)
      await until(async () => (await ask(b, sort, scene.tokens[sort])) === reason)
    },
  )

  test(`a host denies a token that it revoked at the next check, and another host soon after: ${REVOCATIONS} times`, async () => {
    const { account, password } = await newScene(authority)
    const delaysMs: number[] = []
    let already = 0
    for (let round = 0; round < REVOCATIONS; round++) {
      const value = await issueTo(authority, account, password)
      for (const host of [a, b]) expect(await ask(host, 'account', value)).toBe('ALLOWED')
      await a.client.revoke({ value })
      const revokedAtMs = performance.now()
      let asked = 0
      await until(async () => {
        asked++
        return (await ask(b, 'account', value)) === 'CREDENTIAL_REVOKED'
      })
      delaysMs.push(performance.now() - revokedAtMs)
      if (asked === 1) already++
      expect(await ask(a, 'account', value)).toBe('CREDENTIAL_REVOKED')
    }
    const sorted = delaysMs.toSorted((one, other) => one - other)
    const at = (share: number) => (sorted[Math.ceil(share * sorted.length) - 1] ?? 0).toFixed(1)
    process.stderr.write(
      `interop: from the answer to Revoke on one host to the first denial on another, that check included: median ${at(0.5)} ms, p99 ${at(0.99)} ms of ${REVOCATIONS}; the first check was denied ${already} times\n`,
    )
  })

  test('a host without notifications denies after the staleness bound, and immediately when notifications arrive again', async () => {
    const { account, password } = await newScene(authority)
    const first = await issueTo(authority, account, password)
    const lengthBefore = c.log().length
    proxy.refuseListeners(true)
    await until(async () =>
      c.log().slice(lengthBefore).includes('no notifications of changes on other hosts'),
    )
    expect(await ask(c, 'account', first)).toBe('ALLOWED')
    await a.client.revoke({ value: first })
    const unnotifiedMs = performance.now()
    expect(await ask(c, 'account', first)).toBe('ALLOWED')
    await delay(STALENESS_MS - (performance.now() - unnotifiedMs))
    expect(await ask(c, 'account', first)).toBe('CREDENTIAL_REVOKED')

    // The cache is cleared when notifications arrive again.
    const second = await issueTo(authority, account, password)
    expect(await ask(c, 'account', second)).toBe('ALLOWED')
    await a.client.revoke({ value: second })
    const logLength = c.log().length
    proxy.refuseListeners(false)
    await until(async () =>
      c.log().slice(logLength).includes('receiving notifications of changes on other hosts'),
    )
    expect(await ask(c, 'account', second)).toBe('CREDENTIAL_REVOKED')
  })

  test('a change that another host has made counts at the next check of the host that is asked for it again', async () => {
    const { account, password, tokens } = await newScene(authority)
    const [revoked, ofDisabled] = [await issueTo(authority, account, password), tokens.project]
    await caughtUp(c)
    proxy.refuseListeners(true)
    try {
      await remembers(c)
      expect(await ask(c, 'account', revoked)).toBe('ALLOWED')
      expect(await ask(c, 'project', ofDisabled)).toBe('ALLOWED')
      const disable = { account, name: 'builder', enabled: false }
      for (const host of [a, c]) {
        await host.client.revoke({ value: revoked })
        const callerToken = readFileSync(join(host.data, 'administrator-token'), 'utf8').trim()
        const operator = connect(host.address, { callerToken })
        await operator.directory.updateServiceUser(disable)
        operator.close()
      }
      expect(await ask(c, 'account', revoked)).toBe('CREDENTIAL_REVOKED')
      expect(await ask(c, 'project', ofDisabled)).toBe('CREDENTIAL_REVOKED')
    } finally {
      proxy.refuseListeners(false)
    }
  })

  /** Outages of PostgreSQL for the host behind the proxy: how they begin and end. */
  const OUTAGES: readonly [outage: string, begin: () => Promise<void>, end: () => Promise<void>][] = [
    ['PostgreSQL is killed and started again', () => server.kill(), () => server.start()],
    ['PostgreSQL is stopped and started again', () => server.stop(), () => server.start()],
    ['the network goes silent', async () => proxy.goSilent(true), async () => proxy.goSilent(false)],
  ]
  test.each(OUTAGES)(
    '%s: cached tokens are answered within the bound, nothing is answered after it, and everything again afterwards',
    async (_outage, begin, end) => {
      const known = await newScene(authority)
      const unknown = await newScene(authority)
      await caughtUp(c)
      await remembers(c)
      const noAnswer = { code: 'UNAVAILABLE', reason: 'DIRECTORY_UNAVAILABLE' }
      const askedAtMs = performance.now()
      expect(await ask(c, 'account', known.tokens.account)).toBe('ALLOWED')
      expect(await ask(c, 'static', known.tokens.static)).toBe('ALLOWED')
      await begin()
      // Until then there may have been word that nothing was changed.
      const beganAtMs = performance.now()
      try {
        // Within the bound, unless this machine took very long to stop the server.
        const answers = await Promise.all([
          ask(c, 'account', known.tokens.account),
          ask(c, 'static', known.tokens.static),
        ])
        expect(answers).toEqual(['ALLOWED', 'ALLOWED'])
        expect(performance.now() - askedAtMs).toBeLessThan(STALENESS_MS)
        await expect(ask(c, 'account', unknown.tokens.account)).rejects.toMatchObject(noAnswer)
        await expect(ask(c, 'static', unknown.tokens.static)).rejects.toMatchObject(noAnswer)
        await expect(c.client.revoke({ value: known.tokens.account })).rejects.toMatchObject(noAnswer)
        await delay(STALENESS_MS - (performance.now() - beganAtMs))
        for (const { tokens } of [known, unknown])
          for (const sort of ['account', 'static'] as const)
            await expect(ask(c, sort, tokens[sort])).rejects.toMatchObject(noAnswer)
        // Calls that need no directory are always answered.
        expect((await c.client.getMatrix()).digest).toMatch(/./)
      } finally {
        await end()
      }
      await until(async () => (await ask(c, 'account', known.tokens.account)) === 'ALLOWED')
      // Notifications of other hosts arrive again too: a token that is cached for an hour is denied
      // immediately.
      await until(async () => (await ask(b, 'account', unknown.tokens.account)) === 'ALLOWED')
      await until(async () => (await a.client.revoke({ value: unknown.tokens.account })).tokenId !== '')
      await until(async () => (await ask(b, 'account', unknown.tokens.account)) === 'CREDENTIAL_REVOKED')
    },
  )

  test('a follower of one host learns of a revocation on another, and nothing while a change may be missing', async () => {
    const { account, password } = await newScene(authority)
    const follow = (host: Host) => {
      const callerToken = readFileSync(join(host.data, 'administrator-token'), 'utf8').trim()
      const told: {
        voided: { everything: boolean; token_ids: string[] } | null
        valid_for: { seconds: number } | null
      }[] = []
      const box = new BlackBox(host.address)
      const stream = box.follow('watchChanges', {}, { callerToken })
      const state = { hasEnded: false }
      stream
        .on('data', (response) => told.push(response))
        .on('error', () => {
          state.hasEnded = true
        })
      // A host that connects once more meanwhile says `everything`.
      const heard = (tokenId: string, from: number) =>
        told.slice(from).some(({ voided }) => voided?.everything || voided?.token_ids.includes(tokenId))
      return { told, heard, state, close: () => box.close() }
    }
    // As a client does: it asks again until a host that can answer says so. Before a host knows the changes,
    // it sends the rules alone.
    const following = async (host: Host) => {
      let stream = follow(host)
      await until(async () => {
        if (stream.state.hasEnded) {
          // A sidecar takes only some hundred connections from one address.
          stream.close()
          stream = follow(host)
        }
        return stream.told.some(({ valid_for: validFor }) => Number(validFor?.seconds) > 0)
      })
      return stream
    }
    const [ofB, ofC] = [await following(b), await following(c)]
    const revoked = async () => {
      const value = await issueTo(authority, account, password)
      const [fromB, fromC] = [ofB.told.length, ofC.told.length]
      const { tokenId } = await a.client.revoke({ value })
      return { byB: () => ofB.heard(tokenId, fromB), byC: () => ofC.heard(tokenId, fromC) }
    }
    const first = await revoked()
    await until(async () => first.byB() && first.byC())
    proxy.goSilent(true)
    const second = await revoked()
    await until(async () => second.byB())
    // A host that cannot answer ends the stream, so that the client asks another one.
    await until(async () => ofC.state.hasEnded)
    expect(second.byC()).toBe(false)
    proxy.goSilent(false)
    await following(c)
  })

  test('a host does not start if its directory cannot be opened, and the error does not show the password', async () => {
    const wrong = server.url('nowhere', { password: `${CANARY}-wrong` })
    const said = await startHost(newData(), { PORTCULLIS_DIRECTORY_URL: wrong }).catch(String)
    expect(said).toContain('directory.url: expected a directory that can be opened (PostgreSQL: 28P01')
    expect(said).not.toContain(CANARY)
  })
})

/**
 * Tries until the condition is true. An error counts as not yet true. The deadline only ends a failed test.
 */
async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + HANGS_MS
  for (;;) {
    const failure = await holds().then(
      (held) => (held ? undefined : new Error('the condition did not become true')),
      (error: unknown) => error,
    )
    if (failure === undefined) return
    if (performance.now() > deadline) throw failure
    await turn()
  }
}
