/**
 * The primary of an asynchronous standby dies with the last change, which was acknowledged. Hosts that knew
 * it keep that knowledge over a restart, until an operator has ended the tokens of the lost time.
 */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, inject, test, vi } from 'vitest'
import { PostgresServer } from '../../support/postgres/server.ts'
import { done, newBackup, refused } from '../../support/processes/backup.ts'
import { TESTER } from '../../support/sidecar/actor.ts'
import { ACCOUNT, issued, populate, type RunningSidecar, runSidecar } from '../../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder } from '../../support/suite/resources.ts'

/** Accounts that were made in the lost time. */
const LOST_ACCOUNTS = Array.from({ length: 30 }, (_, index) => String(500_000 + index))

const programs = inject('postgres')

describe.skipIf(!programs.ok)('an acknowledged revocation that a failover has lost', () => {
  const ends: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    vi.unstubAllEnvs()
    for (const end of ends.splice(0).toReversed()) await end()
  })

  /** Two servers of which the standby no longer gets anything, and the URL of a directory that names both. */
  async function startServers() {
    const primary = await PostgresServer.start(programs.ok ? programs.folder : '')
    ends.push(() => primary.remove())
    const standby = await primary.startStandby()
    ends.push(() => standby.remove())
    const name = new URL(await primary.newDatabase()).pathname.slice(1)
    const url = primary.url(name).replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${standby.port}/`)
    return { primary, standby, url }
  }

  const CALLER = newFile('follower-caller-token-0123456789abcdef')

  /** @param folder of a follower that was started before */
  async function startFollower(addresses: readonly string[], folder?: string) {
    const hub = { addresses, token_file: CALLER }
    const config = newFile(JSON.stringify({ directory: { hub, staleness_ms: 1_000 } }), 'portcullis.json')
    const follower = await runSidecar({ ...(folder && { folder }), config })
    ends.push(() => follower.sidecar.close())
    return follower
  }

  /** @param folder of the host; default: a new one, with the keys of `beside` */
  async function startHost(
    url: string,
    { folder, beside, address = '127.0.0.1:0' }: { folder?: string; beside?: string; address?: string } = {},
  ) {
    const data = folder ?? join(newFolder(), 'data')
    if (beside !== undefined) {
      mkdirSync(data, { mode: 0o700 })
      for (const file of ['signing-keys.json', 'static-token-pepper'])
        copyFileSync(join(beside, file), join(data, file))
    }
    const callers = [{ name: 'follower', token_file: CALLER, rights: ['follow'] }]
    const config = { directory: { url, staleness_ms: 1_000 }, callers }
    const host = await runSidecar({
      folder: data,
      config: newFile(JSON.stringify(config), 'portcullis.json'),
      flags: { 'grpc.address': address },
    })
    ends.push(() => host.sidecar.close())
    return host
  }

  /** The primary is gone with the revocation, and the standby has taken its place. */
  async function startLost() {
    const { primary, standby, url } = await startServers()
    const host = await startHost(url)
    const secrets = await populate(host)
    const { value } = await issued(host, secrets)
    await primary.replicatedTo(standby)
    await standby.cutOff()
    const follower = await startFollower([host.address])
    expect(await reasonOf(follower, value)).toBe('ALLOWED')
    await host.client.revoke({ value })
    for (const account of LOST_ACCOUNTS) await host.sidecar.run(TESTER, 'createAccount', { account })
    await eventually(async () => (await reasonOf(follower, value)) === 'CREDENTIAL_REVOKED')
    await host.sidecar.close()
    await primary.kill()
    await standby.promote()
    return { url, host, secrets, value, follower }
  }

  async function reasonOf({ client }: Pick<RunningSidecar, 'client'>, value: string) {
    const answer = client.check({ api: 'balance', credentials: [['X-Auth-Token', value]] })
    return answer.then(
      ({ reason }) => reason,
      ({ reason }: { reason?: string }) => reason,
    )
  }

  test('opens nothing after a restart either, until the tokens of the lost time were ended', async () => {
    const { url, host, secrets, value } = await startLost()
    // A host that never knew of it cannot know that it is lost; and changes go on.
    const fresh = await startHost(url, { beside: host.folder })
    expect(await reasonOf(fresh, value)).toBe('ALLOWED')
    for (let count = 0; count < 40; count++) await issued(fresh, secrets)
    await fresh.sidecar.run(TESTER, 'createAccount', { account: 'another' })

    const restart = () => startHost(url, { folder: host.folder })
    await expect(restart()).rejects.toThrow(
      /^directory\.url: .*the directory has lost changes that were known before; do not restart/,
    )
    vi.stubEnv('PORTCULLIS_DIRECTORY_URL', url)
    // Nor does any other program of this host take it for the directory.
    expect(await refused('directory', 'show', '--data', host.folder)).toContain('has lost changes')
    const whatWasLost = async () => {
      const { changes } = await done('directory', 'lost', '--data', host.folder)
      return changes.map(({ action, account }) => [action, account])
    }
    const lost = [['token.revoke', ACCOUNT], ...LOST_ACCOUNTS.map((account) => ['account.create', account])]
    const backup = newBackup()
    await done('backup', backup, '--data', host.folder)
    // Without the end of all tokens, it would say nothing of what was revoked in the lost time.
    expect(await refused('restore', backup, '--replace', '--yes', '--data', host.folder)).toContain(
      'which neither the backup nor the directory has; revocations may be lost with it, so --end-tokens is expected',
    )
    await expect(restart()).rejects.toThrow('has lost changes')
    await done('restore', backup, '--replace', '--end-tokens', '--data', host.folder)
    // Each of them was acknowledged, and is named.
    expect(await whatWasLost()).toEqual(lost)
    const again = await restart()
    for (const each of [again, fresh])
      await eventually(async () => (await reasonOf(each, value)) === 'CREDENTIAL_REVOKED')
    const { value: later } = await issued(again, secrets)
    expect(await reasonOf(again, later)).toBe('ALLOWED')
  })

  test('opens nothing at a follower that knew of it, restarted or not, whichever hub it finds', async () => {
    const { url, host, secrets, value, follower } = await startLost()
    const fresh = await startHost(url, { beside: host.folder })
    expect(await reasonOf(fresh, value)).toBe('ALLOWED')
    const beside = await startHost(url, { beside: host.folder })
    for (let count = 0; count < 40; count++)
      await fresh.sidecar.run(TESTER, 'createAccount', { account: `${count}` })
    const hubs = [fresh.address, beside.address]
    const restarted = async () => {
      await follower.sidecar.close()
      return startFollower(hubs, follower.folder)
    }
    // The same hub, as a new process at the same address, knows nothing of it either.
    const again = await startHost(url, { beside: host.folder, address: host.address })
    const answers = new Set<string | undefined>()
    const isRefused = async (asked: RunningSidecar, times: number) => {
      answers.add(await reasonOf(asked, value))
      return asked.logLines.filter((line) => line.includes('do not restart')).length >= times
    }
    await eventually(() => isRefused(follower, 2))
    const later = await restarted()
    await eventually(() => isRefused(later, 3))
    expect(answers).not.toContain('ALLOWED')

    vi.stubEnv('PORTCULLIS_DIRECTORY_URL', url)
    const backup = newBackup()
    await done('backup', backup, '--data', again.folder)
    await done('restore', backup, '--replace', '--end-tokens', '--data', again.folder)
    await eventually(async () => (await reasonOf(later, value)) === 'CREDENTIAL_REVOKED')
    const { value: issuedLater } = await issued(again, secrets)
    expect(await reasonOf(later, issuedLater)).toBe('ALLOWED')
  })
})
