/**
 * A directory on three PostgreSQL servers with Patroni, etcd and HAProxy, with the settings of the page for
 * operators, while hosts check and revoke: nothing that was acknowledged is lost. The figures are printed.
 */
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { parse } from 'yaml'
import { Secret } from '../../../sidecar/base/secret.ts'
import { blocksOf, fileOf, pageOf } from '../../docs/page.ts'
import { type Host, startHost } from '../../support/directory/host.ts'
import { issueTo, newScene, openAuthority } from '../../support/directory/scene.ts'
import { freeAddresses, installProxy, startProxy } from '../../support/interop/proxies.ts'
import { type Member, obtainPatroni, PatroniServer } from '../../support/postgres/patroni.ts'
import { eventually, newFolder } from '../../support/suite/resources.ts'
import { answerOf, Checks, Revocations } from './outage.ts'

const programs = inject('postgres')
const patroni = await obtainPatroni()
const haproxy = await installProxy('haproxy')
const page = blocksOf(pageOf('docs/operate/failover.md'))
const textOf = (file: string) => page.find((block) => fileOf(block) === file)?.text ?? ''

const TOKENS = 1_000
/** Tokens that are issued at a time. */
const TOGETHER = 4
/** Revocations that a standby misses that lags behind. */
const MISSED = 20
const STALENESS_MS = [0, 5_000]

interface Roles {
  readonly leader: PatroniServer
  /** Has every change that was acknowledged. */
  readonly synchronous: PatroniServer
  readonly asynchronous: PatroniServer
}

/** Something befalls the servers. Resolves when one of them can go on, with what brings the others back. */
type Event = (roles: Roles, cluster: Cluster) => Promise<() => unknown>

const EVENTS: readonly (readonly [what: string, event: Event])[] = [
  [
    'a switchover',
    async ({ leader, synchronous }) => {
      await leader.switchOver(synchronous)
      return () => {}
    },
  ],
  [
    'the leader is killed',
    async ({ leader }) => {
      await leader.kill()
      return () => leader.start()
    },
  ],
  [
    'the leader hangs, and goes on when another one has its place',
    async ({ leader }) => {
      leader.freeze()
      return () => leader.thaw()
    },
  ],
  [
    'the leader is killed while a standby lags behind',
    async ({ leader, asynchronous }, { revocations }) => {
      const thaw = await asynchronous.freezeReceiver()
      const before = revocations.acknowledged.length
      await eventually(() => revocations.acknowledged.length >= before + MISSED)
      await leader.kill()
      return async () => {
        thaw()
        await leader.start()
      }
    },
  ],
  [
    'the leader and the synchronous standby are killed, and the standby comes back',
    async ({ leader, synchronous, asynchronous }) => {
      await Promise.all([leader.kill(), synchronous.kill()])
      // It may lack a change, so it waits although the key of the leader expires.
      await eventually(async () => (await asynchronous.members()).every(({ role }) => role !== 'leader'))
      expect(await asynchronous.isPrimary()).toBe(false)
      await synchronous.start()
      return () => leader.start()
    },
  ],
]

interface Cluster {
  readonly servers: readonly PatroniServer[]
  readonly hosts: readonly Named[]
  readonly checks: readonly Checks[]
  readonly revocations: Revocations
}

interface Named {
  readonly name: string
  readonly host: Host
}

describe.skipIf(!programs.ok || !patroni.ok || !haproxy.ok)('three servers with Patroni', () => {
  const ends: (() => unknown)[] = []
  let cluster: Cluster

  beforeAll(async () => {
    if (!programs.ok || !patroni.ok || !haproxy.ok) return
    const names = ['one', 'two', 'three']
    const dcs: object = parse(textOf('dcs.yaml'))
    const servers = await PatroniServer.startAll(programs.folder, patroni.value, names, dcs)
    for (const server of servers) ends.push(() => server.remove())
    const { leader } = await healthy(servers)
    const database = new URL(await leader.newDatabase()).pathname.slice(1)
    const { port } = new URL(`tcp://${await startHaproxy(servers)}`)
    const all = servers.map((server) => `127.0.0.1:${server.port}`).join(',')
    const urls = {
      'the URL names all': leader.url(database).replace(`127.0.0.1:${leader.port}`, all),
      HAProxy: leader.url(database, { port: Number(port) }),
    }

    const keys = newFolder()
    const shared = { url: new Secret(leader.url(database)), stalenessMs: 0, poolSize: 4, timeoutMs: 5_000 }
    const authority = await openAuthority(keys, shared)
    const { account, password, tokens } = await newScene(authority)
    const revoked: string[] = []
    while (revoked.length < TOKENS)
      revoked.push(
        ...(await Promise.all(Array.from({ length: TOGETHER }, () => issueTo(authority, account, password)))),
      )
    await authority.close()

    const hosts: Named[] = []
    for (const [route, url] of Object.entries(urls))
      for (const stalenessMs of STALENESS_MS) {
        const host = await newHost(keys, url, stalenessMs)
        ends.push(() => host.stop())
        hosts.push({ name: `${route}, directory.staleness_ms ${stalenessMs}`, host })
      }
    const checks = hosts.map(({ host }) => new Checks(host, tokens.account))
    const [, changing] = hosts as [Named, Named]
    const witnesses = hosts.map(({ host }) => host)
    const revocations = new Revocations(changing.host, revoked, witnesses)
    ends.push(() => Promise.all([revocations, ...checks].map((each) => each.stop())))
    cluster = { servers, hosts, checks, revocations }
  })

  afterAll(async () => {
    for (const end of ends.toReversed()) await end()
  })

  async function startHaproxy(servers: readonly PatroniServer[]): Promise<string> {
    if (!haproxy.ok) return ''
    const folder = newFolder()
    const addresses = await freeAddresses()
    let text = textOf('haproxy.cfg').replace('127.0.0.1:5432', addresses.proxy)
    for (const [index, { port, api }] of servers.entries())
      text = text.replace(
        `db-${index + 1}.example:5432`,
        `127.0.0.1:${port} port ${new URL(`tcp://${api}`).port}`,
      )
    writeFileSync(join(folder, 'haproxy.cfg'), text)
    await startProxy('haproxy', haproxy.value, folder, addresses, '')
    return addresses.proxy
  }

  async function newHost(keys: string, url: string, stalenessMs: number): Promise<Host> {
    const data = newFolder()
    for (const file of ['signing-keys.json', 'static-token-pepper'])
      copyFileSync(join(keys, file), join(data, file))
    return startHost(data, {
      PORTCULLIS_DIRECTORY_URL: url,
      PORTCULLIS_DIRECTORY_STALENESS_MS: String(stalenessMs),
      PORTCULLIS_DIRECTORY_POOL_SIZE: '3',
    })
  }

  test.each(EVENTS)('%s: checks and changes go on', async (what, event) => {
    const { servers, hosts, checks, revocations } = cluster
    const roles = await healthy(servers)
    const sinceMs = performance.now()
    const bringBack = await event(roles, cluster)
    await eventually(async () => roles.synchronous.isPrimary())
    const ledMs = performance.now() - sinceMs
    await bringBack()
    const { leader } = await healthy(servers)
    expect(leader.name).toBe(roles.synchronous.name)
    const healthyAtMs = performance.now()
    await eventually(
      () =>
        revocations.acknowledgedAfter(healthyAtMs) && checks.every((each) => each.answeredAfter(healthyAtMs)),
    )
    const outages = hosts.map(({ name }, index) => `${name}: ${checks[index]?.outageMs(sinceMs)} ms`)
    process.stderr.write(
      `nightly: ${what}: next leader after ${Math.round(ledMs)} ms; longest time without an answer: ${outages.join('; ')}; without an acknowledged change: ${revocations.outageMs(sinceMs)} ms\n`,
    )
    expect(checks.flatMap(({ unexpected }) => unexpected)).toEqual([])
  })

  test('every change that was acknowledged is there, and no host has missed one', async () => {
    const { hosts, checks, revocations } = cluster
    await Promise.all([revocations, ...checks].map((each) => each.stop()))
    const { acknowledged, allowedForMs } = revocations
    const allowedMs = Math.round(Math.max(...allowedForMs))
    process.stderr.write(
      `nightly: ${acknowledged.length} revocations were acknowledged; afterwards a token was allowed for at most ${allowedMs} ms\n`,
    )
    expect(acknowledged.length).toBeGreaterThan(MISSED)
    for (const { host } of hosts) {
      const answers = new Set<string | undefined>()
      for (const token of acknowledged) answers.add(await answerOf(host, token))
      expect([...answers]).toEqual(['CREDENTIAL_REVOKED'])
      expect(host.log()).not.toContain('the directory has lost changes')
    }
    for (const [index, ms] of allowedForMs.entries())
      expect(ms).toBeLessThanOrEqual(STALENESS_MS[index % STALENESS_MS.length] ?? 0)
  })
})

/** Waits until there is a leader, and both standbys follow it. */
async function healthy(servers: readonly PatroniServer[]): Promise<Roles> {
  return eventually(async () => {
    const members = await servers[0]?.members().catch(() => [])
    const found = new Map(members?.filter(isWell).map(({ name, role }) => [role, name]))
    if (found.size !== 3 || new Set(members?.map(({ timeline }) => timeline)).size !== 1) return undefined
    const serverOf = (role: Member['role']) =>
      servers.find(({ name }) => name === found.get(role)) as PatroniServer
    return {
      leader: serverOf('leader'),
      synchronous: serverOf('sync_standby'),
      asynchronous: serverOf('replica'),
    }
  })
}

function isWell({ role, state }: Member): boolean {
  return state === (role === 'leader' ? 'running' : 'streaming')
}
