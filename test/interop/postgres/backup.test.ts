/** A backup of a directory in PostgreSQL, and one that moves from a file to PostgreSQL and back. */
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { examine } from '../../../sidecar/cli/doctor/examine.ts'
import { CANARY, PostgresServer } from '../../support/postgres/server.ts'
import { done, newBackup, reasonOf, refused, scene } from '../../support/processes/backup.ts'
import { command } from '../../support/processes/command-line.ts'
import { TESTER } from '../../support/sidecar/actor.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../../support/sidecar/sidecar.ts'
import { eventually, newFolder } from '../../support/suite/resources.ts'

const programs = inject('postgres')

describe.skipIf(!programs.ok)('on PostgreSQL', () => {
  let server: PostgresServer | undefined
  beforeAll(async () => {
    if (programs.ok) server = await PostgresServer.start(programs.folder)
  })
  afterAll(() => server?.remove())
  afterEach(() => void vi.unstubAllEnvs())

  const newUrl = async () => (await server?.newDatabase()) ?? ''
  /** Commands from now on use this database. */
  const use = (url: string) => void vi.stubEnv('PORTCULLIS_DIRECTORY_URL', url)
  /** Another host: it has the same keys and the same pepper. */
  const hostOf = (folder: string) => {
    const copy = join(newFolder(), 'data')
    cpSync(folder, copy, { recursive: true, filter: (path) => !path.includes('directory.sqlite') })
    return copy
  }

  test('a directory moves from a file to a database and back, and decides as before', async () => {
    const { running, secrets, token, revoked, data } = await scene()
    const [first, second] = [newBackup(), newBackup()]
    await done('backup', first, ...data)
    await running.sidecar.close()

    const url = await newUrl()
    use(url)
    const host = hostOf(running.folder)
    await done('restore', first, '--data', host)
    const shared = await runSidecar({ folder: host, flags: { 'directory.url': url } })
    expect(await reasonOf(shared, token)).toBe('ALLOWED')
    expect(await reasonOf(shared, secrets.staticToken)).toBe('ALLOWED')
    expect(await reasonOf(shared, revoked)).toBe('CREDENTIAL_REVOKED')
    // It has a new number, so the audit trail goes on behind the restoration.
    await shared.sidecar.run(TESTER, 'updateAccount', { account: ACCOUNT, enabled: false })
    await shared.sidecar.run(TESTER, 'updateAccount', { account: ACCOUNT, enabled: true })
    expect(await reasonOf(shared, token)).toBe('CREDENTIAL_REVOKED')
    const later = (await issued(shared, secrets)).value
    await done('backup', second, '--data', host)
    await shared.sidecar.close()
    vi.unstubAllEnvs()

    const back = hostOf(running.folder)
    await done('restore', second, '--data', back)
    const file = await runSidecar({ folder: back })
    expect(await reasonOf(file, token)).toBe('CREDENTIAL_REVOKED')
    expect(await reasonOf(file, later)).toBe('ALLOWED')
    expect(await reasonOf(file, secrets.staticToken)).toBe('ALLOWED')
  })

  test('hosts that serve follow a restoration, which keeps revocations and ends the tokens of the lost time', async () => {
    const url = await newUrl()
    use(url)
    const folder = join(newFolder(), 'data')
    const running = await runSidecar({
      folder,
      flags: { 'directory.url': url, 'directory.staleness_ms': 600_000 },
    })
    const secrets = await populate(running)
    const before = (await issued(running, secrets)).value
    const revoked = (await issued(running, secrets)).value
    const backup = newBackup()
    await done('backup', backup, '--data', folder)
    await running.client.revoke({ value: revoked })
    await running.sidecar.run(TESTER, 'createAccount', { account: '777777' })
    const lost = (await issued(running, secrets)).value
    for (const value of [before, lost]) expect(await reasonOf(running, value)).toBe('ALLOWED')

    expect(await refused('restore', backup, '--data', folder)).toMatch(/is not empty; use --replace/)
    expect(await reasonOf(running, lost)).toBe('ALLOWED')
    const { warnings } = await done('restore', backup, '--replace', '--data', folder)
    expect(warnings.join('\n')).toMatch(/were kept: 1 .*\nundone; .*: account\.create 1, token\.revoke 1$/)
    // The status of the token is cached for ten minutes; a notification ends that.
    await eventually(async () => (await reasonOf(running, lost)) === 'CREDENTIAL_REVOKED')
    expect(await reasonOf(running, before)).toBe('ALLOWED')
    expect(await reasonOf(running, revoked)).toBe('CREDENTIAL_REVOKED')
    // Changes go on, and the audit trail is protected again.
    await running.sidecar.run(TESTER, 'createAccount', { account: '777777' })
    const { rows } = await done('backup', newBackup(), '--data', folder)
    expect(rows.accounts).toBe(3)
    await expect(server?.query(new URL(url).pathname.slice(1), 'DELETE FROM audit')).rejects.toThrow(
      /append-only/,
    )
  })

  test('a restoration that fails in the middle changes nothing', async () => {
    const url = await newUrl()
    use(url)
    const folder = join(newFolder(), 'data')
    const running = await runSidecar({ folder, flags: { 'directory.url': url } })
    const secrets = await populate(running)
    const backup = newBackup()
    await done('backup', backup, '--data', folder)
    const { value } = await issued(running, secrets)
    const database = new URL(url).pathname.slice(1)
    await server?.query(
      database,
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
       CREATE TRIGGER refuse BEFORE INSERT ON restorations FOR EACH ROW EXECUTE FUNCTION refuse()`,
    )
    const count = async () => (await server?.query(database, 'SELECT COUNT(*) AS n FROM audit'))?.[0]?.n
    const records = await count()
    const said = await refused('restore', backup, '--replace', '--data', folder)
    expect(said).toMatch(/directory\.url: expected a directory that can be opened/)
    expect(said).not.toContain(CANARY)
    expect(await count()).toBe(records)
    expect(await reasonOf(running, value)).toBe('ALLOWED')
  })

  test('`doctor` compares the clocks, counts foreign static tokens, and shows no password', async () => {
    const url = await newUrl()
    use(url)
    const folder = join(newFolder(), 'data')
    const running = await runSidecar({ folder, flags: { 'directory.url': url } })
    await populate(running)
    const options = { data: folder, grpc: '127.0.0.1:0' }
    expect((await examine(options, Date.now)).filter(({ severity }) => severity !== 'ok')).toEqual([])
    const ahead = await examine(options, () => Date.now() + 3_600_000)
    expect(ahead).toContainEqual(
      expect.objectContaining({
        severity: 'error',
        check: 'clock',
        message: expect.stringMatching(/PostgreSQL differ by 3\d{3}\.\d s/),
      }),
    )
    const other = await examine({ ...options, data: (await runSidecar()).folder }, Date.now)
    expect(other).toContainEqual(expect.objectContaining({ severity: 'error', check: 'pepper' }))
    expect(JSON.stringify([ahead, other])).not.toContain(CANARY)
    const { stdout } = await command(['config', 'show', '--data', folder])
    expect(stdout).not.toContain(CANARY)
    expect(readFileSync(join(folder, 'signing-keys.json'), 'utf8')).toContain('PRIVATE')
  })

  test('`migrate` says which version a database has', async () => {
    use(await newUrl())
    const folder = join(newFolder(), 'data')
    expect((await command(['migrate', '--check', '--data', folder])).stdout).toMatch(
      /^version 0 can be upgraded/,
    )
    expect((await command(['migrate', '--data', folder])).stdout).toMatch(/^version 0 was upgraded to \d+\n$/)
    expect((await command(['migrate', '--data', folder])).stdout).toMatch(/up to date\n$/)
  })
})
