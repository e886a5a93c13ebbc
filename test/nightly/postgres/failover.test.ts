/**
 * The primary of a directory in PostgreSQL dies, and its standby takes over: the answers of checks meanwhile,
 * and that no revocation that was acknowledged is forgotten unnoticed. The figures are printed.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, inject, test, vi } from 'vitest'
import { Secret } from '../../../sidecar/base/secret.ts'
import { openPostgres } from '../../../sidecar/directory/postgres.ts'
import { run } from '../../../sidecar/usecases/administration/run.ts'
import { type Host, startHost } from '../../support/directory/host.ts'
import { ask, newScene, openAuthority, type Scene } from '../../support/directory/scene.ts'
import { PostgresProxy } from '../../support/postgres/proxy.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { done, newBackup } from '../../support/processes/backup.ts'
import { command } from '../../support/processes/command-line.ts'
import { TESTER } from '../../support/sidecar/actor.ts'
import { eventually, newFolder } from '../../support/suite/resources.ts'
import { Checks } from './outage.ts'

const programs = inject('postgres')
/** How long the primary is away before the standby is promoted, in milliseconds. */
const AWAY_MS = 1_000
/** Programs that ask a host at the same time. */
const ASKERS = 4
/** Changes after the failover: more than the numbers that PostgreSQL skips then. */
const CHANGES_AFTERWARDS = 40
const LOSES = 'PostgreSQL acknowledges changes before a standby has them'
const NOTIFIED = 'receiving notifications of changes on other hosts'

interface Cluster {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** Name of the database with the directory. */
  readonly name: string
  /** Names both servers. */
  readonly url: string
  /** A data folder with the keys of the directory. */
  readonly folder: string
  readonly scene: Scene
}

describe.skipIf(!programs.ok)('PostgreSQL with a standby', () => {
  const ends: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    vi.unstubAllEnvs()
    for (const end of ends.splice(0).toReversed()) await end()
  })

  const open = (url: string) => openPostgres({ url: new Secret(url), poolSize: 2, timeoutMs: 5_000 })

  async function startCluster(): Promise<Cluster> {
    const primary = await PostgresServer.start(programs.ok ? programs.folder : '')
    const standby = await primary.startStandby()
    ends.push(
      () => primary.remove(),
      () => standby.remove(),
    )
    const name = new URL(await primary.newDatabase()).pathname.slice(1)
    const url = bothOf(primary, standby, name)
    const folder = newFolder()
    const authority = await openAuthority(folder, sharedBy(url))
    const scene = await newScene(authority)
    await authority.close()
    await primary.replicatedTo(standby)
    return { primary, standby, name, url, folder, scene }
  }

  async function newHost(
    { folder, url }: Pick<Cluster, 'folder' | 'url'>,
    stalenessMs: number,
    data = newFolder(),
  ): Promise<Host> {
    for (const file of ['signing-keys.json', 'static-token-pepper'])
      copyFileSync(join(folder, file), join(data, file))
    const host = await startHost(data, {
      PORTCULLIS_DIRECTORY_URL: url,
      PORTCULLIS_DIRECTORY_STALENESS_MS: String(stalenessMs),
    })
    ends.push(() => host.stop())
    return host
  }

  test('it is not used while it is one, and the other host of the URL is', async () => {
    const { primary, standby, name } = await startCluster()
    await expect(open(standby.url(name))).rejects.toThrow(
      'directory.url: expected a directory that can be opened (PostgreSQL: this server is a standby and takes no changes; the URL must lead to the primary)',
    )
    for (const url of [bothOf(primary, standby, name), bothOf(standby, primary, name)]) {
      const database = await open(`${url}?target_session_attrs=read-write`)
      expect(await database.all("SELECT current_setting('port')::int AS port")).toEqual([
        { port: primary.port },
      ])
      await database.close()
    }
    await standby.stop()
    await primary.stop()
    await expect(open(bothOf(primary, standby, name))).rejects.toThrow('ECONNREFUSED')
  })

  /** How the primary goes, and how hosts get to the standby. */
  const FAILOVERS: readonly [
    how: string,
    urlOf: (cluster: Cluster) => Promise<[url: string, proxy: PostgresProxy | undefined]>,
  ][] = [
    ['killed, the URL names both', async ({ url }) => [url, undefined]],
    [
      'gone silent, the address moves',
      async ({ primary, name }) => {
        const proxy = await PostgresProxy.start(primary.port)
        ends.push(() => proxy.close())
        return [primary.url(name, { port: proxy.port }), proxy]
      },
    ],
  ]
  test.each(FAILOVERS)('the primary is %s: answers, and what was revoked stays so', async (how, urlOf) => {
    const cluster = await startCluster()
    const { primary, standby, folder, scene } = cluster
    const [url, proxy] = await urlOf(cluster)
    // The first one asks PostgreSQL at every check, the other one uses answers for as long as by default.
    const [asking, regular] = await Promise.all([
      newHost({ folder, url }, 0),
      newHost({ folder, url }, 5_000),
    ])
    await regular.client.revoke({ value: scene.tokens.project })
    await primary.replicatedTo(standby)

    const loads = [asking, regular].map((host) => new Checks(host, scene.tokens.account, ASKERS))
    await delay(200)
    const logged = regular.log().length
    const diedAtMs = performance.now()
    if (proxy === undefined) await primary.kill()
    // To where nothing answers until the address has moved.
    else proxy.goSilent(true)
    await delay(AWAY_MS)
    await standby.promote()
    const promotedAtMs = performance.now()
    if (proxy !== undefined) {
      proxy.moveTo(standby.port)
      proxy.goSilent(false)
    }
    await eventually(() => regular.log().indexOf(NOTIFIED, logged) > 0)
    const notifiedAtMs = performance.now()
    await eventually(() => loads.every((load) => load.answeredAfter(promotedAtMs)))
    await delay(200)
    for (const load of loads) await load.stop()
    const [ofAsking, ofRegular] = loads.map(
      (load) => `no answer for ${load.outageMs(diedAtMs)} ms (${load.failed} checks)`,
    )
    process.stderr.write(
      `interop: failover, primary ${how}, ${Math.round(promotedAtMs - diedAtMs)} ms until the standby was promoted; asks at every check: ${ofAsking}; answers used for 5 s: ${ofRegular}; notified of changes again ${Math.round(notifiedAtMs - promotedAtMs)} ms after the promotion\n`,
    )
    for (const host of [asking, regular])
      expect(await ask(host, 'project', scene.tokens.project)).toBe('CREDENTIAL_REVOKED')
    await asking.client.revoke({ value: scene.tokens.account })
    await eventually(
      async () => (await ask(regular, 'account', scene.tokens.account)) === 'CREDENTIAL_REVOKED',
    )
    expect(loads.flatMap(({ unexpected }) => unexpected)).toEqual([])
  })

  test('a revocation that a failover lost opens nothing on hosts that knew of it, restarted or not, until the lost time was ended', async () => {
    const cluster = await startCluster()
    const { primary, standby, folder, url, scene } = cluster
    const hosts = await Promise.all([newHost(cluster, 1_000), newHost(cluster, 1_000)])
    const [author, other] = hosts as [Host, Host]
    const answerOf = (host: Host) =>
      ask(host, 'account', scene.tokens.account).catch(({ reason }: { reason?: string }) => reason)
    // Asynchronous replication: the primary acknowledges what the standby does not have yet.
    await standby.cutOff()
    const { account, password } = scene
    const login = { password: { userName: 'robot', account, password }, scope: { account } }
    const { value: ofLostTime } = await author.client.issue(login)
    await author.client.revoke({ value: scene.tokens.account })
    await eventually(async () => (await answerOf(other)) === 'CREDENTIAL_REVOKED')
    await primary.kill()
    await standby.promote()

    // A host that did not know of it cannot know that it is lost.
    const fresh = await newHost(cluster, 1_000)
    expect(await answerOf(fresh)).toBe('ALLOWED')
    const authority = await openAuthority(folder, sharedBy(url))
    ends.push(() => authority.close())
    for (let change = 0; change < CHANGES_AFTERWARDS; change++)
      await run(authority.administration, TESTER, 'createProject', {
        account: scene.account,
        name: `project-${change}`,
      })
    const answers = new Set<unknown>()
    for (const askedAtMs = performance.now(); performance.now() - askedAtMs < 4_000; await delay(20))
      for (const host of hosts) answers.add(await answerOf(host))
    expect(answers).not.toContain('ALLOWED')
    for (const host of hosts) {
      expect(await answerOf(host)).toBe('DIRECTORY_CHANGES_LOST')
      expect(host.log()).toContain('the directory has lost changes that this sidecar has seen')
    }

    await other.stop()
    const restart = () => newHost(cluster, 1_000, other.data)
    await expect(restart()).rejects.toThrow('has lost changes that were known before')

    vi.stubEnv('PORTCULLIS_DIRECTORY_URL', url)
    const backup = newBackup()
    await done('backup', backup, '--data', other.data)
    // Without the end of all tokens, it does not report the revocations of the lost time.
    await done('restore', backup, '--replace', '--data', folder)
    expect(await answerOf(author)).toBe('DIRECTORY_CHANGES_LOST')
    await done('restore', backup, '--replace', '--end-tokens', '--data', other.data)
    const all = [author, await restart(), fresh]
    for (const host of all)
      for (const ended of [scene.tokens.account, ofLostTime])
        await eventually(async () => (await ask(host, 'account', ended)) === 'CREDENTIAL_REVOKED')
    const { value } = await author.client.issue(login)
    for (const host of all) expect(await ask(host, 'account', value)).toBe('ALLOWED')
    await eventually(() => author.log().includes('has every change that this sidecar has seen'))
  })

  test('with synchronous replication a revocation is acknowledged when the standby has it, and not before', async () => {
    const cluster = await startCluster()
    const { primary, standby, scene, folder, url } = cluster
    const host = await newHost(cluster, 0)
    vi.stubEnv('PORTCULLIS_DIRECTORY_URL', url)
    const warned = async () => (await command(['doctor', '--data', folder])).stdout.includes(LOSES)
    expect(await warned()).toBe(true)
    await primary.set('synchronous_standby_names', 'standby')
    await eventually(async () => !(await warned()))
    await host.client.revoke({ value: scene.tokens.project })
    await standby.cutOff()
    await expect(host.client.revoke({ value: scene.tokens.account })).rejects.toMatchObject({
      code: expect.stringMatching(/^(UNAVAILABLE|DEADLINE_EXCEEDED)$/),
    })
    await primary.kill()
    await standby.promote()
    // The acknowledged change is there, and the other one was not acknowledged.
    await eventually(async () => (await ask(host, 'project', scene.tokens.project)) === 'CREDENTIAL_REVOKED')
    expect(await ask(host, 'account', scene.tokens.account)).toBe('ALLOWED')
    await host.client.revoke({ value: scene.tokens.account })
    expect(await ask(host, 'account', scene.tokens.account)).toBe('CREDENTIAL_REVOKED')
  })
})

function bothOf(one: PostgresServer, other: PostgresServer, name: string): string {
  return one.url(name).replace(`:${one.port}/`, `:${one.port},127.0.0.1:${other.port}/`)
}

function sharedBy(url: string) {
  return { url: new Secret(url), stalenessMs: 0, poolSize: 2, timeoutMs: 5_000 }
}
