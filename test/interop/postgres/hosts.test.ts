/** Two hosts, each a real sidecar with a data folder of its own, that share a directory on PostgreSQL. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { OpenedAuthority } from '../../../sidecar/authority/open.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { type Host, startHost } from '../../support/directory/host.ts'
import { ask, DENYING, issueTo, newFolder, newScene, openAuthority } from '../../support/directory/scene.ts'
import { PostgresProxy } from '../../support/postgres/proxy.ts'
import { CANARY, PostgresServer } from '../../support/postgres/server.ts'

const programs = inject('postgres')
const REVOCATIONS = 50
/** Short enough to wait for, long enough for a busy machine to ask twice within it. */
const STALENESS_MS = 5_000
const TIMEOUT_MS = 1_000

describe.skipIf(!programs.ok)('hosts that share a directory', () => {
  const folders: { path: string; remove: () => void }[] = []
  let server: PostgresServer
  let proxy: PostgresProxy
  let url: string
  /** The authority of host A in this process, for what the contract has no call for. */
  let authority: OpenedAuthority
  let a: Host
  /** Hears of changes, and relies on nothing else: what it remembers would be good for an hour. */
  let b: Host
  /** Reaches PostgreSQL over the proxy, and remembers for a short time. */
  let c: Host

  /** A host with the keys and the pepper of the first. */
  async function newHost(directory: string, stalenessMs: number): Promise<Host> {
    const data = newData()
    return startHost(data, {
      PORTCULLIS_DIRECTORY_URL: directory,
      PORTCULLIS_DIRECTORY_STALENESS_MS: String(stalenessMs),
      PORTCULLIS_DIRECTORY_TIMEOUT_MS: String(TIMEOUT_MS),
    })
  }

  function newData(): string {
    const folder = newFolder()
    folders.push(folder)
    const [first] = folders
    if (first !== undefined && first !== folder)
      for (const file of ['signing-keys.json', 'static-token-pepper'])
        copyFileSync(join(first.path, file), join(folder.path, file))
    return folder.path
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
      timeoutMs: 5_000,
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
    for (const { remove } of folders) remove()
    if (!programs.ok) return
    expect(ends).toEqual([0, 0, 0])
    expect(logs).not.toContain(CANARY)
  })

  /** Waits until the host has heard of every change so far: what it remembers from then on, it keeps. */
  async function caughtUp(host: Host): Promise<void> {
    const { account, password } = await newScene(authority)
    for (;;) {
      const value = await issueTo(authority, account, password)
      const askedAtMs = performance.now()
      expect(await ask(host, 'account', value)).toBe('ALLOWED')
      await a.client.revoke({ value })
      await until(async () => (await ask(host, 'account', value)) === 'CREDENTIAL_REVOKED')
      // Otherwise it may have grown old instead.
      if (performance.now() - askedAtMs < STALENESS_MS) return
    }
  }

  test('a token that one host issues, the others know', async () => {
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
    '%s on one host: another denies without waiting for what it remembers to grow old',
    async (_change, sort, reason, apply) => {
      const scene = await newScene(authority)
      expect(await ask(b, sort, scene.tokens[sort])).toBe('ALLOWED')
      await apply(authority, scene)
      await until(async () => (await ask(b, sort, scene.tokens[sort])) === reason)
    },
  )

  test(`what a host revoked it denies in its very next check, and the other soon: ${REVOCATIONS} times`, async () => {
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

  test('a host that hears of no change denies when the staleness bound is over, and at once when it hears again', async () => {
    const { account, password } = await newScene(authority)
    const first = await issueTo(authority, account, password)
    proxy.refuseListeners(true)
    await until(async () => c.log().includes('no notifications of changes on other hosts'))
    expect(await ask(c, 'account', first)).toBe('ALLOWED')
    await a.client.revoke({ value: first })
    const deafMs = performance.now()
    expect(await ask(c, 'account', first)).toBe('ALLOWED')
    await delay(STALENESS_MS - (performance.now() - deafMs))
    expect(await ask(c, 'account', first)).toBe('CREDENTIAL_REVOKED')

    // What was remembered while it was deaf does not outlive the moment when it hears again.
    const second = await issueTo(authority, account, password)
    expect(await ask(c, 'account', second)).toBe('ALLOWED')
    await a.client.revoke({ value: second })
    const heard = c.log().length
    proxy.refuseListeners(false)
    await until(async () => c.log().slice(heard).includes('are notified'))
    expect(await ask(c, 'account', second)).toBe('CREDENTIAL_REVOKED')
  })

  /** How PostgreSQL goes away from the host that reaches it over the proxy, and how it comes back. */
  const OUTAGES: readonly [outage: string, begin: () => Promise<void>, end: () => Promise<void>][] = [
    ['PostgreSQL is killed and started again', () => server.kill(), () => server.start()],
    ['PostgreSQL is stopped and started again', () => server.stop(), () => server.start()],
    ['the network goes silent', async () => proxy.goSilent(true), async () => proxy.goSilent(false)],
  ]
  test.each(OUTAGES)(
    '%s: what is known is answered within the bound, nothing beyond it, and all of it again afterwards',
    async (_outage, begin, end) => {
      const known = await newScene(authority)
      const unknown = await newScene(authority)
      await caughtUp(c)
      const noAnswer = { code: 'UNAVAILABLE', reason: 'DIRECTORY_UNAVAILABLE' }
      const askedAtMs = performance.now()
      expect(await ask(c, 'account', known.tokens.account)).toBe('ALLOWED')
      expect(await ask(c, 'static', known.tokens.static)).toBe('ALLOWED')
      await begin()
      try {
        // Asked for within the bound, unless this machine took so long to end the server.
        const answers = await Promise.all([
          ask(c, 'account', known.tokens.account),
          ask(c, 'static', known.tokens.static),
        ])
        expect(answers).toEqual(['ALLOWED', 'ALLOWED'])
        expect(performance.now() - askedAtMs).toBeLessThan(STALENESS_MS)
        await expect(ask(c, 'account', unknown.tokens.account)).rejects.toMatchObject(noAnswer)
        await expect(ask(c, 'static', unknown.tokens.static)).rejects.toMatchObject(noAnswer)
        await expect(c.client.revoke({ value: known.tokens.account })).rejects.toMatchObject(noAnswer)
        await delay(STALENESS_MS - (performance.now() - askedAtMs))
        for (const { tokens } of [known, unknown])
          for (const sort of ['account', 'static'] as const)
            await expect(ask(c, sort, tokens[sort])).rejects.toMatchObject(noAnswer)
        // What needs no directory is answered throughout.
        expect((await c.client.getMatrix()).digest).toMatch(/./)
      } finally {
        await end()
      }
      await until(async () => (await ask(c, 'account', known.tokens.account)) === 'ALLOWED')
      // Changes of others are heard of again too: what is remembered for an hour is denied at once.
      await until(async () => (await ask(b, 'account', unknown.tokens.account)) === 'ALLOWED')
      await until(async () => (await a.client.revoke({ value: unknown.tokens.account })).tokenId !== '')
      await until(async () => (await ask(b, 'account', unknown.tokens.account)) === 'CREDENTIAL_REVOKED')
    },
  )

  test('a host does not start where its directory cannot be opened, and says so without the password', async () => {
    const wrong = server.url('nowhere', { password: `${CANARY}-wrong` })
    const said = await startHost(newData(), { PORTCULLIS_DIRECTORY_URL: wrong }).catch(String)
    expect(said).toContain('directory.url: expected a directory that can be opened (PostgreSQL: 28P01')
    expect(said).not.toContain(CANARY)
  })
})

/** Tries until it holds; no answer is none yet. The deadline only ends a failure. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000
  for (;;) {
    const failure = await holds().then(
      (held) => (held ? undefined : new Error('what was waited for did not come about')),
      (error: unknown) => error,
    )
    if (failure === undefined) return
    if (performance.now() > deadline) throw failure
    await turn()
  }
}
