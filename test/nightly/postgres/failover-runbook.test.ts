/**
 * A failover with three servers that loses what was acknowledged, walked by the runbook alone: two sidecars
 * have the directory, one follows them. The states that they report agree at each moment: `/readyz`, the
 * metrics of the alerts, `doctor`, the log, and the result of a check.
 */
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, inject, test, vi } from 'vitest'
import type { PortcullisError } from '../../../clients/typescript/index.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { type Host, startHost } from '../../support/directory/host.ts'
import { ask, newScene, openAuthority } from '../../support/directory/scene.ts'
import { obtainPatroni, PatroniServer } from '../../support/postgres/patroni.ts'
import { command } from '../../support/processes/command-line.ts'
import { eventually, newFile, newFolder } from '../../support/suite/resources.ts'

const programs = inject('postgres')
const patroni = await obtainPatroni()
const FOLLOWER = newFile('follower-caller-token-0123456789abcdef')
const PAGE = readFileSync('docs/operate/postgresql.md', 'utf8')

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const end of ends.splice(0).toReversed()) await end()
})

test.skipIf(!programs.ok || !patroni.ok)(
  'a failover that lost acknowledged changes is walked by the runbook alone, and all signals of three hosts agree',
  async () => {
    if (!programs.ok || !patroni.ok) return
    const servers = await PatroniServer.startAll(programs.folder, patroni.value, ['one', 'two', 'three'], {
      // Long enough to look at everything before a standby is promoted.
      ...{ ttl: 90, loop_wait: 1, retry_timeout: 3 },
    })
    for (const server of servers) ends.push(() => server.remove())
    const [primary, ...standbys] = servers as [PatroniServer, ...PatroniServer[]]
    const name = new URL(await primary.newDatabase()).pathname.slice(1)
    const hosts = standbys.map(({ port }) => `,127.0.0.1:${port}`).join('')
    const url = primary.url(name).replace(`:${primary.port}/`, `:${primary.port}${hosts}/`)
    const keys = newFolder()
    const authority = await openAuthority(keys, {
      ...{ url: new Secret(url), stalenessMs: 0, poolSize: 2, timeoutMs: 5_000 },
    })
    const scene = await newScene(authority)
    await authority.close()

    const hubs = [await startHub(url, keys), await startHub(url, keys)]
    const addresses = hubs.map(({ host }) => host.address)
    const follower = await startWatched(join(newFolder(), 'data'), {
      directory: { staleness_ms: 3_000, hub: { addresses, token_file: FOLLOWER } },
    })
    const all = [...hubs, follower]
    const [author] = hubs as [Watched, Watched]
    const login = { password: { userName: 'robot', ...scene }, scope: { account: scene.account } }
    const unknown = await Promise.all(Array.from({ length: 20 }, () => author.host.client.issue(login)))
    const tokens = unknown.map(({ value }) => value)
    await everywhere(all, tokens, 'ready', 'ALLOWED')

    for (const standby of standbys) await primary.replicatedTo(standby)
    for (const standby of standbys) await standby.cutOff()
    const LOST = 30
    const lost: string[] = []
    for (let count = 0; count < LOST; count++) {
      const { value, tokenId } = await author.host.client.issue(login)
      // Some are acknowledged by the follower: it is for the hub that made them to name them.
      await (count % 3 === 0 ? follower : author).host.client.revoke({ value })
      lost.push(tokenId)
    }
    await primary.kill()

    // The page says what is seen now, and nothing is to be done but to wait: Patroni promotes.
    await everywhere(all, tokens, 'directory_unreachable', 'DIRECTORY_UNAVAILABLE')
    await eventually(async () => (await Promise.all(standbys.map((each) => each.isPrimary()))).includes(true))
    await everywhere(all, tokens, 'directory_changes_lost', 'DIRECTORY_CHANGES_LOST')

    vi.stubEnv('PORTCULLIS_DIRECTORY_URL', url)
    const outputs = await walk('Runbook: changes are lost', author.host)
    vi.unstubAllEnvs()
    expect(outputs['backup after-failover.backup']).toContain('after-failover.backup: change')
    await everywhere(all, tokens, 'ready', 'CREDENTIAL_REVOKED')
    const named: string[] = []
    for (const hub of hubs) named.push(...(await lostOf(hub)))
    expect(named.toSorted()).toEqual(lost.toSorted())
    for (const each of all) {
      expect(each.seen).toEqual(['ready', 'directory_unreachable', 'directory_changes_lost', 'ready'])
      const told = (text: string) => each.host.log().split(text).length - 1
      expect(told('the directory does not answer; the sidecar is not ready')).toBe(1)
      expect(told('the directory has lost changes that this sidecar has seen')).toBe(1)
      expect(told('the directory has every change that this sidecar has seen')).toBe(1)
    }
  },
)

interface Watched {
  readonly host: Host
  readonly config: string
  /** The answers of `/readyz` so far, without repetitions. */
  readonly seen: string[]
}

async function startHub(url: string, keys: string): Promise<Watched> {
  const data = join(newFolder(), 'data')
  mkdirSync(data, { mode: 0o700 })
  for (const file of ['signing-keys.json', 'static-token-pepper'])
    copyFileSync(join(keys, file), join(data, file))
  const callers = [{ name: 'follower', token_file: FOLLOWER, rights: ['follow'] }]
  return startWatched(data, { directory: { url, staleness_ms: 3_000 }, callers })
}

async function startWatched(data: string, config: object): Promise<Watched> {
  const file = newFile(JSON.stringify(config), 'portcullis.json')
  const variables = { PORTCULLIS_CONFIG: file, PORTCULLIS_HEALTH_ADDRESS: '127.0.0.1:0' }
  const host = await startHost(data, variables)
  const watched: Watched = { host, config: file, seen: [] }
  let stopped = false
  const watching = (async () => {
    for (; !stopped; await delay(50)) {
      const { body } = await readiness(watched)
      if (body !== watched.seen.at(-1)) watched.seen.push(body)
    }
  })()
  ends.push(async () => {
    stopped = true
    await watching
    await host.stop()
  })
  return watched
}

async function readiness({ host }: Watched): Promise<{ readonly ok: boolean; readonly body: string }> {
  const answer = await fetch(`http://${host.health}/readyz`)
  const { problems = ['ready'] } = (await answer.json()) as { problems?: string[] }
  return { ok: answer.ok, body: problems.join(' ') }
}

/**
 * Waits until each host is in this state, and looks that every signal says so.
 *
 * @param tokens that no host has been asked about yet
 * @param reason what a check of such a token gets
 */
async function everywhere(
  all: readonly Watched[],
  tokens: string[],
  state: 'ready' | 'directory_unreachable' | 'directory_changes_lost',
  reason: string,
): Promise<void> {
  for (const each of all) {
    const { host, config } = each
    await eventually(async () => (await readiness(each)).body === state)
    expect((await readiness(each)).ok).toBe(state === 'ready')
    const metrics = await (await fetch(`http://${host.health}/metrics`)).text()
    expect(metrics).toContain(`portcullis_ready ${state === 'ready' ? 1 : 0}\n`)
    for (const code of ['directory_unreachable', 'directory_changes_lost'])
      expect(metrics).toContain(`portcullis_problem{code="${code}"} ${code === state ? 1 : 0}\n`)
    const answer = ask(host, 'account', tokens.pop() ?? '').catch((error: PortcullisError) => error.reason)
    expect(await answer).toBe(reason)
    const args = ['--config', config, '--data', host.data, '--grpc', host.address]
    vi.stubEnv('PORTCULLIS_HEALTH_ADDRESS', host.health)
    const { code, stdout } = await command(['doctor', ...args])
    vi.stubEnv('PORTCULLIS_HEALTH_ADDRESS', undefined)
    expect([code, stdout]).toEqual([state === 'ready' ? 0 : 1, expect.stringMatching(/\d errors?, /)])
    if (state !== 'ready') expect(stdout).toContain(state)
  }
}

/** Runs the commands of a section of the page on a host, except those that only show what a job gets. */
async function walk(title: string, { data }: Host): Promise<Record<string, string>> {
  const section = PAGE.slice(PAGE.indexOf(`## ${title}`)).split(/\n## /)[0] as string
  const backup = join(newFolder(), 'after-failover.backup')
  const outputs: Record<string, string> = {}
  for (const [, line = ''] of section.matchAll(
    /^npx portcullis ((?:backup|restore|directory|doctor) .*)$/gm,
  )) {
    const words = line
      .split(' ')
      .map((word) => ({ './host-1': data, 'after-failover.backup': backup })[word] ?? word)
    const { code, stdout, stderr } = await command(words)
    expect([line, code, code === 0 ? '' : stderr]).toEqual([line, 0, ''])
    outputs[line.replace(/ --.*/, '')] = stdout
  }
  return outputs
}

async function lostOf({ host, config }: Watched): Promise<string[]> {
  const { stdout } = await command(['directory', 'lost', '--config', config, '--data', host.data, '--json'])
  const { changes } = JSON.parse(stdout) as { changes: { action: string; subject_id: string }[] }
  return changes.filter(({ action }) => action === 'token.revoke').map(({ subject_id: id }) => id)
}
