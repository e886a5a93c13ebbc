/** A backup is one state of the directory. Restored, it decides as before, and reports all it brings back. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test, vi } from 'vitest'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { rotateKeys, withdrawKey } from '../../sidecar/authority/keys.ts'
import { Progress } from '../../sidecar/cli/terminal/progress.ts'
import type { DirectoryChange } from '../../sidecar/directory/change.ts'
import { removeRows } from '../../sidecar/directory/removal.ts'
import { done, newBackup, newStopped, reasonOf, refused, scene } from '../support/processes/backup.ts'
import { command } from '../support/processes/command-line.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import {
  ACCOUNT,
  issued,
  populate,
  type RunningSidecar,
  runSidecar,
  type Secrets,
} from '../support/sidecar/sidecar.ts'
import { newFolder } from '../support/suite/resources.ts'

const stopped = newStopped()

const operatorOf = ({ connect, folder }: RunningSidecar) =>
  connect({ callerToken: readFileSync(join(folder, 'administrator-token'), 'utf8').trim() })

const loginOf = (password: string) => ({
  password: { userName: 'account', account: ACCOUNT, password },
  scope: { account: ACCOUNT },
})

describe('a directory that was restored', () => {
  test('into a new folder decides as before, and an earlier token is as good as a new one', async () => {
    const { running, secrets, token, revoked, data } = await scene()
    const [backup, keys] = [newBackup(), newBackup()]
    await done('backup', backup, '--keys', keys, ...data)
    await running.sidecar.close()
    const folder = join(newFolder(), 'data')
    const { warnings } = await done('restore', backup, '--keys', keys, '--data', folder)
    expect(warnings).toEqual([
      expect.stringContaining('IAM tokens that were issued after'),
      expect.stringContaining('is valid again: repeat it'),
    ])
    const restored = await runSidecar({ folder })
    expect(await reasonOf(restored, token)).toBe('ALLOWED')
    expect(await reasonOf(restored, secrets.staticToken)).toBe('ALLOWED')
    expect(await reasonOf(restored, revoked)).toBe('CREDENTIAL_REVOKED')
    expect(await reasonOf(restored, (await issued(restored, secrets)).value)).toBe('ALLOWED')
    expect(statSync(join(folder, 'directory.sqlite')).mode & 0o777).toBe(0o600)
    expect(restored.logLines.filter((line) => /missing|another pepper|can reach/.test(line))).toEqual([])
  })

  /**
   * An operation that ended a token after the backup, and how it is done and undone again after the
   * restoration.
   */
  const LOST: Readonly<Record<string, (running: RunningSidecar, secrets: Secrets) => Promise<string>>> = {
    'obtained with a password that is lost': async ({ sidecar, client }) => {
      const { password: value } = await sidecar.run(TESTER, 'replaceServiceUserPassword', {
        account: ACCOUNT,
        name: 'account',
      })
      return (await client.issue(loginOf(value.reveal()))).value
    },
    'issued before the account was disabled': async (running, secrets) => {
      for (const enabled of [false, true])
        await running.sidecar.run(TESTER, 'updateAccount', { account: ACCOUNT, enabled })
      return (await issued(running, secrets)).value
    },
  }
  const AGAIN: Readonly<Record<string, (running: RunningSidecar) => Promise<unknown>>> = {
    // The generation of the user becomes the one of the lost token.
    'obtained with a password that is lost': ({ sidecar }) =>
      sidecar.run(TESTER, 'replaceServiceUserPassword', { account: ACCOUNT, name: 'account' }),
    'issued before the account was disabled': async ({ sidecar }) => {
      for (const enabled of [false, true])
        await sidecar.run(TESTER, 'updateAccount', { account: ACCOUNT, enabled })
    },
  }

  test.each(Object.keys(LOST))('never accepts a token of the lost time that was %s', async (what) => {
    const { running, secrets, data } = await scene()
    const backup = newBackup()
    await done('backup', backup, ...data)
    const lost = await LOST[what]?.(running, secrets)
    expect(await reasonOf(running, `${lost}`)).toBe('ALLOWED')
    await running.sidecar.close()
    rmSync(join(running.folder, 'directory.sqlite'))
    await done('restore', backup, ...data)
    const restored = await runSidecar({ folder: running.folder })
    expect(await reasonOf(restored, `${lost}`)).toBe('CREDENTIAL_REVOKED')
    await AGAIN[what]?.(restored)
    expect(await reasonOf(restored, `${lost}`)).toBe('CREDENTIAL_REVOKED')
  })

  test('accepts no token that its administrator got without the role', async () => {
    const { running, data } = await scene()
    const [name, backup] = ['robot', newBackup()]
    const { password } = await running.sidecar.run(TESTER, 'createServiceUser', {
      account: ACCOUNT,
      ...{ name, permissions: [{ scope: 'account' }], roles: ['iam.admin'] },
    })
    await done('backup', backup, ...data)
    await running.sidecar.run(TESTER, 'updateServiceUser', { account: ACCOUNT, name, roles: [] })
    const { value } = await running.client.issue({
      password: { userName: name, account: ACCOUNT, password: password.reveal() },
      scope: { account: ACCOUNT },
    })
    expect(await reasonOf(running, value)).toBe('ALLOWED')
    await running.sidecar.close()
    await done('restore', backup, '--replace', ...data)
    const restored = await runSidecar({ folder: running.folder })
    expect((await restored.sidecar.run(TESTER, 'getServiceUser', { account: ACCOUNT, name })).roles).toEqual([
      'iam.admin',
    ])
    expect(await reasonOf(restored, value)).toBe('CREDENTIAL_REVOKED')
  })

  test('keeps the revocations of the directory that it replaces, and lists what is undone', async () => {
    const { running, secrets, token, data } = await scene()
    const backup = newBackup()
    await done('backup', backup, ...data)
    await running.client.revoke({ value: token })
    const { run } = running.sidecar
    const { staticToken } = secrets
    await operatorOf(running).revoke({ value: staticToken })
    await run(TESTER, 'updateServiceUser', { account: ACCOUNT, name: 'account', enabled: false })
    await running.sidecar.close()
    const { warnings, kept_as: keptAs, change } = await done('restore', backup, '--replace', ...data)
    expect(warnings.join('\n')).toMatch(
      /were kept: 2 that the backup did not have\nundone; .*: service_user\.disable 1, token\.revoke 2$/,
    )
    const restored = await runSidecar({ folder: running.folder })
    expect(await reasonOf(restored, token)).toBe('CREDENTIAL_REVOKED')
    expect(await reasonOf(restored, staticToken)).toBe('CREDENTIAL_REVOKED')
    // As it was: the user is enabled.
    expect(await reasonOf(restored, (await issued(restored, secrets)).value)).toBe('ALLOWED')
    const [record] = await restored.sidecar.administration.records.audit('', {
      after: `${change - 1}`,
      size: 1,
    })
    expect(record).toMatchObject({
      action: 'directory.restore',
      sequence: change,
      details: { revocations_kept: 2 },
    })
    expect(statSync(`${keptAs}`).mode & 0o777).toBe(0o600)
  })

  test('accepts no token whose revocation the directory that it replaces has removed', async () => {
    const { running, secrets, token, data } = await scene()
    const backup = newBackup()
    await done('backup', backup, ...data)
    await running.client.revoke({ value: token })
    const { directory } = running.sidecar.administration
    const parts = {
      change: <T>(work: (change: DirectoryChange) => Promise<T>) => directory.change('retention', work),
      shrink: async () => false,
      proceed: () => true,
      queries: directory.records.queries,
      onLeft: () => {},
    }
    const nowMs = Date.now()
    await removeRows(parts, { nowMs, deletedMs: 0, expiredMs: 0 })
    expect(await removeRows(parts, { nowMs, deletedMs: 0, expiredMs: nowMs })).toEqual({ revocations: 2 })
    await running.sidecar.close()
    await done('restore', backup, '--replace', ...data)
    const restored = await runSidecar({ folder: running.folder })
    expect(await reasonOf(restored, token)).toBe('CREDENTIAL_REVOKED')
    expect(await reasonOf(restored, (await issued(restored, secrets)).value)).toBe('ALLOWED')
  })

  test('accepts no earlier token of an ended kind where the revocations after the backup are lost', async () => {
    const { running, secrets, token, data } = await scene()
    const backup = newBackup()
    await done('backup', backup, ...data)
    await running.client.revoke({ value: token })
    await operatorOf(running).revoke({ value: secrets.staticToken })
    await running.sidecar.close()
    for (const [more, ofIam, ofStatic, ended] of [
      [[], 'ALLOWED', 'ALLOWED', {}],
      [['--end-tokens'], 'CREDENTIAL_REVOKED', 'ALLOWED', { tokens_ended: true }],
      [['--end-static-tokens'], 'ALLOWED', 'CREDENTIAL_REVOKED', { static_tokens_ended: 1 }],
    ] as const) {
      for (const end of ['', '-wal', '-shm'])
        rmSync(join(running.folder, `directory.sqlite${end}`), { force: true })
      const { warnings, change } = await done('restore', backup, ...more, ...data)
      expect(warnings.join()).toContain('is valid again')
      const restored = await runSidecar({ folder: running.folder })
      expect(await reasonOf(restored, token)).toBe(ofIam)
      expect(await reasonOf(restored, secrets.staticToken)).toBe(ofStatic)
      expect(await reasonOf(restored, (await issued(restored, secrets)).value)).toBe('ALLOWED')
      const [record] = await restored.sidecar.administration.records.audit('', {
        after: `${change - 1}`,
        size: 1,
      })
      expect(record?.details).toMatchObject({ revocations_kept: 0, ...ended })
      await restored.sidecar.close()
    }
  })

  test('twice from one backup has numbers that were never given before', async () => {
    const { running, secrets, data } = await scene()
    const backup = newBackup()
    await done('backup', backup, ...data)
    await running.sidecar.close()
    const lost: string[] = []
    const changes: number[] = []
    for (let round = 0; round < 2; round++) {
      changes.push((await done('restore', backup, '--replace', ...data)).change)
      const restored = await runSidecar({ folder: running.folder })
      for (const value of lost) expect(await reasonOf(restored, value)).toBe('CREDENTIAL_REVOKED')
      await restored.sidecar.run(TESTER, 'updateAccount', { account: ACCOUNT, enabled: true })
      lost.push((await issued(restored, secrets)).value)
      await restored.sidecar.close()
    }
    expect(changes[1]).toBeGreaterThan((changes[0] ?? 0) + 1)
  })

  test('of a damaged file is put in its place, and says that nothing of it was kept', async () => {
    const { running, token, data } = await scene()
    const backup = newBackup()
    await done('backup', backup, ...data)
    await running.sidecar.close()
    writeFileSync(join(running.folder, 'directory.sqlite'), 'no database '.repeat(1000))
    expect(await refused('restore', backup, ...data)).toContain('use --replace')
    const { warnings, kept_as: keptAs } = await done('restore', backup, '--replace', ...data)
    expect(warnings.join()).toMatch(/is valid again \(the replaced one cannot be read: /)
    expect(readFileSync(`${keptAs}`, 'utf8')).toContain('no database')
    expect(await reasonOf(await runSidecar({ folder: running.folder }), token)).toBe('ALLOWED')
  })

  test('beside the log of a file that was lost is not mixed with it', async () => {
    const { running, token, data } = await scene()
    const backup = newBackup()
    await done('backup', backup, ...data)
    // A long log of another directory: its pages would take the places of those of the backup.
    const other = await runSidecar()
    await populate(other)
    const logs = ['-wal', '-shm'].map(
      (end) => [end, readFileSync(join(other.folder, `directory.sqlite${end}`))] as const,
    )
    await running.sidecar.close()
    rmSync(join(running.folder, 'directory.sqlite'))
    for (const [end, log] of logs) writeFileSync(join(running.folder, `directory.sqlite${end}`), log)
    expect(logs[0]?.[1].length).toBeGreaterThan(100_000)
    await done('restore', backup, ...data)
    const restored = await runSidecar({ folder: running.folder })
    expect(await reasonOf(restored, token)).toBe('ALLOWED')
    const kept = readdirSync(running.folder).filter((name) => /replaced-.*-wal$/.test(name))
    expect(kept).toHaveLength(1)
  })
})

describe('a backup', () => {
  test('that is made while the directory changes is one state of it, and the sidecar goes on', async () => {
    const { running, token, data } = await scene()
    let going = true
    let made = 0
    const changing = (async () => {
      // Each change makes an account with two projects, or nothing.
      while (going)
        await applyFile(running.sidecar.administration, TESTER, {
          accounts: [{ account: `made-${made++}`, projects: ['one', 'two'] }],
        })
    })()
    const seen: number[] = []
    for (let round = 0; round < 3; round++) {
      const backup = newBackup()
      const { rows, last_change: last } = await done('backup', backup, ...data)
      const lines = readFileSync(backup, 'utf8').trim().split('\n').slice(2)
      const ofTable = (table: string) =>
        lines.map((line) => JSON.parse(line)).filter(([name]) => name === table)
      // Two accounts with three projects were there before.
      expect(ofTable('projects').length - 3).toBe(2 * (ofTable('accounts').length - 2))
      expect(ofTable('audit')).toHaveLength(rows.audit ?? 0)
      expect(Math.max(...ofTable('audit').map(([, row]) => row.sequence))).toBe(last)
      seen.push(last)
      expect(await reasonOf(running, token)).toBe('ALLOWED')
      for (const begun = made; made < begun + 2; ) await new Promise(setImmediate) // Or a backup is faster.
    }
    going = false
    await changing
    expect(new Set(seen).size).toBe(3)
  })

  test('of the directory has no key, no pepper, no password and no token, and only its owner can read it', async () => {
    const { running, secrets, token, data } = await scene()
    const [backup, keys] = [newBackup(), newBackup()]
    await done('backup', backup, '--keys', keys, ...data)
    const text = readFileSync(backup, 'utf8')
    const pepper = readFileSync(join(running.folder, 'static-token-pepper'), 'utf8').trim()
    const administrator = readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()
    for (const secret of [secrets.passwordOf('account'), secrets.staticToken, token, pepper, administrator])
      expect(text).not.toContain(secret)
    expect(text).not.toContain('PRIVATE KEY')
    expect(readFileSync(keys, 'utf8')).not.toContain(administrator)
    for (const file of [backup, keys]) expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await refused('backup', backup, ...data)).toMatch(/exists, and is not replaced/)
    expect(readdirSync(join(backup, '..'))).toEqual(['directory.backup'])
  })

  test('is ended by Ctrl-C, as a restoration is, and nothing stays behind', async () => {
    const { folder, data } = await stopped()
    const database = new DatabaseSync(join(folder, 'directory.sqlite'))
    database.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO revocations (token_id, revoked_at_ms) SELECT 'token-' || i, i FROM n`)
    database.close()
    const whole = newBackup()
    await done('backup', whole, ...data)
    const before = readdirSync(folder).sort()
    const interrupted = vi.spyOn(Progress.prototype, 'add').mockImplementation(function (this: Progress) {
      process.emit('SIGINT')
    })
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
    const backup = newBackup()
    const ended = [
      await command(['backup', backup, ...data]),
      await command(['restore', whole, '--replace', ...data]),
    ]
    const calls = [...kill.mock.calls]
    for (const mock of [interrupted, kill]) mock.mockRestore()
    const left = (done: string, what: string) =>
      expect.stringMatching(
        new RegExp(`^portcullis: interrupted: ${done} 0 of 5,\\d+ rows; 5,\\d+ rows left; ${what}\\n$`),
      )
    expect(ended).toEqual([
      { code: 2, stdout: '', stderr: left('written', 'no file was written') },
      { code: 2, stdout: '', stderr: left('loaded', 'nothing was changed') },
    ])
    expect(calls).toEqual([
      [process.pid, 'SIGINT'],
      [process.pid, 'SIGINT'],
    ])
    expect(readdirSync(join(backup, '..'))).toEqual([])
    expect(readdirSync(folder).sort()).toEqual(before)
  })

  test('is not made of a damaged directory', async () => {
    const { folder, data } = await stopped()
    const file = join(folder, 'directory.sqlite')
    const bytes = readFileSync(file)
    const at = bytes.indexOf('stranger')
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(file, bytes)
    const backup = newBackup()
    expect(await refused('backup', backup, ...data)).toMatch(/the directory is damaged/)
    expect(readdirSync(join(backup, '..'))).toEqual([])
  })

  test('keeps names with line separators of earlier versions', async () => {
    const { folder, data } = await stopped()
    const database = new DatabaseSync(join(folder, 'directory.sqlite'))
    database.exec(`UPDATE users SET name = 'a\u2028b' WHERE name = 'nothing'`)
    database.close()
    const backup = newBackup()
    await done('backup', backup, ...data)
    await done('restore', backup, '--replace', ...data)
    const { stdout } = await command(['directory', 'show', '--json', ...data])
    expect(stdout).toContain('a\\u2028b')
  })
})

describe('the keys of a backup', () => {
  test('are put back where others are only on request, with a word about each that comes back or goes', async () => {
    const { running, token, data } = await scene()
    const [backup, keys] = [newBackup(), newBackup()]
    await done('backup', backup, '--keys', keys, ...data)
    await running.sidecar.close()
    const file = join(running.folder, 'signing-keys.json')
    const [active] = JSON.parse(readFileSync(file, 'utf8')).keys as { key_id: string }[]
    withdrawKey(file, `${active?.key_id}`, Date.now() + 60_000)
    const restore = ['restore', backup, '--keys', keys, ...data]
    expect(await refused(...restore)).toMatch(/signing-keys\.json exists and differs .*; use --replace/)
    const withdrawn = await runSidecar({ folder: running.folder })
    expect(await reasonOf(withdrawn, token)).toBe('CREDENTIAL_INVALID')
    await withdrawn.sidecar.close()
    const { warnings } = await done(...restore, '--replace')
    expect(warnings).toContainEqual(
      `the signing key ${active?.key_id} is back; if it was withdrawn, withdraw it again: portcullis keys withdraw ${active?.key_id}`,
    )
    expect(warnings).toContainEqual(expect.stringMatching(/^the signing key \w+ is missing/))
    expect(await reasonOf(await runSidecar({ folder: running.folder }), token)).toBe('ALLOWED')
  })

  test('are made anew with --new-keys, and static tokens of another pepper are counted', async () => {
    const { secrets, token, data } = await scene()
    const backup = newBackup()
    await done('backup', backup, ...data)
    const folder = join(newFolder(), 'data')
    mkdirSync(folder, { mode: 0o700 })
    writeFileSync(join(folder, 'static-token-pepper'), `${'ab'.repeat(32)}\n`)
    chmodSync(join(folder, 'static-token-pepper'), 0o600)
    const { warnings } = await done('restore', backup, '--new-keys', '--data', folder)
    expect(warnings.join('\n')).toMatch(
      /every IAM token .* is denied[\s\S]*\n1 static tokens were hashed with another pepper/,
    )
    const restored = await runSidecar({ folder })
    expect(await reasonOf(restored, token)).toBe('CREDENTIAL_INVALID')
    expect(await reasonOf(restored, secrets.staticToken)).toBe('CREDENTIAL_INVALID')
    expect(await reasonOf(restored, (await issued(restored, secrets)).value)).toBe('ALLOWED')
  })

  test('are verified as the directory is', async () => {
    const { running, data } = await scene()
    const [backup, keys] = [newBackup(), newBackup()]
    await done('backup', backup, '--keys', keys, ...data)
    await running.sidecar.close()
    const folder = join(newFolder(), 'data')
    const swapped = await refused('restore', keys, '--keys', backup, '--data', folder)
    expect(swapped).toMatch(/expected a backup of the keys, found one of the directory/)
    copyFileSync(keys, `${keys}.cut`)
    writeFileSync(`${keys}.cut`, readFileSync(keys, 'utf8').slice(0, -20))
    const cut = await refused('restore', backup, '--keys', `${keys}.cut`, '--data', folder)
    expect(cut).toMatch(/damaged or incomplete/)
    expect(cut).not.toContain('PRIVATE')
  })

  test('are put back alone, or the pepper alone, which leaves keys that were rotated as they are', async () => {
    const { running, secrets, token, data } = await scene()
    const keys = newBackup()
    await done('backup', newBackup(), '--keys', keys, ...data)
    await running.sidecar.close()
    const [keysFile, pepperFile] = ['signing-keys.json', 'static-token-pepper'].map((name) =>
      join(running.folder, name),
    ) as [string, string]
    const original = readFileSync(keysFile, 'utf8')
    rotateKeys(keysFile, Date.now() + 60_000, 86_400_000)
    const rotated = readFileSync(keysFile, 'utf8')
    const started = async () => {
      const again = await runSidecar({ folder: running.folder })
      const reasons = [await reasonOf(again, token), await reasonOf(again, secrets.staticToken)]
      await again.sidecar.close()
      return reasons
    }
    rmSync(pepperFile)
    expect(await started()).toEqual(['ALLOWED', 'CREDENTIAL_INVALID'])
    const restore = ['restore', '--keys', keys, ...data]
    expect(await refused(...restore, '--pepper-only')).toMatch(/static-token-pepper exists and differs/)
    expect((await done(...restore, '--pepper-only', '--replace')).warnings).toEqual([])
    expect(readFileSync(keysFile, 'utf8')).toBe(rotated)
    expect(await started()).toEqual(['ALLOWED', 'ALLOWED'])
    rmSync(keysFile)
    await done(...restore)
    expect(readFileSync(keysFile, 'utf8')).toBe(original)
    expect(await started()).toEqual(['ALLOWED', 'ALLOWED'])
  })

  test.runIf(process.geteuid?.() === 0)('belong to the owner of the folder where root restores', async () => {
    const { data } = await scene()
    const [backup, keys] = [newBackup(), newBackup()]
    await done('backup', backup, '--keys', keys, ...data)
    for (const given of [['--keys', keys], ['--new-keys']]) {
      const folder = newFolder()
      chownSync(folder, 65_534, 65_534)
      await done('restore', backup, ...given, '--data', folder)
      const owners = readdirSync(folder).map((name) => statSync(join(folder, name)).uid)
      expect(new Set(owners)).toEqual(new Set([65_534]))
    }
  })
})
