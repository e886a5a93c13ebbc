/** A backup that cannot be used, or that must not be restored, leaves the directory as it is. */
import { hash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { readBackedUpKeys } from '../../sidecar/authority/keys-backup.ts'
import { writeSealed } from '../../sidecar/base/sealed-file.ts'
import { restoreDirectory } from '../../sidecar/directory/backup/restore.ts'
import {
  contentOf,
  done,
  newBackup,
  newStopped,
  reasonOf,
  refused,
  scene,
} from '../support/processes/backup.ts'
import { command, FakeTerminal } from '../support/processes/command-line.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFolder } from '../support/suite/resources.ts'

const stopped = newStopped()

describe('a restoration is refused, and changes nothing,', () => {
  interface Refusal {
    readonly what: string
    readonly spoil?: (backup: string) => void
    readonly folder?: 'same' | 'new'
    readonly message: RegExp
  }
  const edit = (change: (text: string) => string) => (backup: string) =>
    writeFileSync(backup, change(readFileSync(backup, 'utf8')))
  const REFUSALS: readonly Refusal[] = [
    { what: 'over a directory with records', folder: 'same', message: /is not empty; use --replace/ },
    {
      what: 'of a file that was cut off',
      spoil: edit((text) => text.slice(0, -50)),
      message: /damaged or incomplete/,
    },
    {
      what: 'of a file without its last line',
      spoil: edit((text) => text.replace(/\n[^\n]+\n$/, '\n')),
      message: /damaged or incomplete/,
    },
    {
      what: 'of a file with a flipped bit',
      spoil: edit((text) => text.replace('"enabled":1', '"enabled":0')),
      message: /damaged or incomplete/,
    },
    {
      what: 'of a header of another content',
      spoil: edit((text) => text.replace(/"sha256":"./, (start) => `${start.slice(0, -1)}x`)),
      message: /damaged or incomplete/,
    },
    {
      what: 'of another file',
      spoil: (backup) => writeFileSync(backup, 'canary'),
      message: /expected a backup that/,
    },
    {
      what: 'of a newer format',
      spoil: edit((text) => text.replace('"format":1', '"format":2')),
      message: /expected a backup of format 1, found 2; a newer Portcullis wrote it/,
    },
    { what: 'of a missing file', spoil: (backup) => rmSync(backup), message: /ENOENT/ },
    {
      what: 'into a folder without keys',
      folder: 'new',
      message: /expected signing-keys\.json, without which every IAM token is denied; use --keys FILE/,
    },
  ]

  test.each(REFUSALS)('$what', async ({ spoil, folder = 'same', message }) => {
    const { folder: same, backup } = await stopped()
    spoil?.(backup)
    const before = contentOf(same)
    const place = folder === 'same' ? same : join(newFolder(), 'data')
    const said = await refused('restore', backup, '--data', place)
    expect(said).toMatch(message)
    expect(said).not.toContain('canary')
    expect(contentOf(same)).toEqual(before)
    if (spoil !== undefined) await refused('restore', backup, '--data', place, '--replace')
    expect(contentOf(same)).toEqual(before)
  })

  test('where the question is not answered with yes', async () => {
    const { folder, backup, data } = await stopped()
    const before = contentOf(folder)
    const terminal = new FakeTerminal('n', 'y')
    const restore = ['restore', backup, '--replace', ...data]
    expect(await command(restore, terminal)).toMatchObject({ code: 2, stdout: '' })
    expect(contentOf(folder)).toEqual(before)
    expect(await command(restore, terminal)).toMatchObject({ code: 0 })
    expect(terminal.questions[0]).toBe(
      `Replace the directory by ${backup}? Changes after the backup are undone. [y/N] `,
    )
  })

  test('while a sidecar uses the file, which goes on', async () => {
    const { running, token, data } = await scene()
    const backup = newBackup()
    await done('backup', backup, ...data)
    const before = readdirSync(running.folder).sort()
    expect(await refused('restore', backup, '--replace', ...data)).toMatch(
      /a process is using the directory; stop the sidecar, then restore/,
    )
    expect(readdirSync(running.folder).sort()).toEqual(before)
    await running.client.revoke({ value: token })
    expect(await reasonOf(running, token)).toBe('CREDENTIAL_REVOKED')
  })

  test.each<[what: string, files: (backup: string, keys: string) => string[]]>([
    ['the directory', (backup) => [backup, '--new-keys', '--replace', '--yes']],
    ['the directory and the keys', (backup, keys) => [backup, '--keys', keys]],
    ['the keys alone', (_backup, keys) => ['--keys', keys]],
  ])('of %s into a folder of another program', async (_what, files) => {
    const { backup, data } = await stopped()
    const keys = newBackup()
    await done('backup', newBackup(), '--keys', keys, ...data)
    const folder = newFolder()
    writeFileSync(join(folder, 'photo.jpg'), 'of somebody')
    expect(await refused('restore', ...files(backup, keys), '--data', folder)).toMatch(
      /: expected an empty folder, or a data folder of Portcullis with its /,
    )
    expect(readdirSync(folder)).toEqual(['photo.jpg'])
  })

  test.each(['--end-tokens', '--end-static-tokens'])('of the keys alone with %s', async (option) => {
    const restore = ['restore', '--keys', newBackup(), option, '--data', newFolder()]
    expect(await refused(...restore)).toContain('expected the file of a backup with them')
  })

  test('of a backup of a newer version, and of one from the future', async () => {
    const { backup } = await stopped()
    const folder = join(newFolder(), 'data')
    const options = {
      ...{ path: backup, folder, replace: true, actor: 'a test', pepper: '' },
      ...{ endTokens: false, endStaticTokens: false },
      place: { file: join(folder, 'directory.sqlite') },
    }
    await expect(restoreDirectory({ ...options, nowMs: Date.now() - 3_600_000 })).rejects.toThrow(
      /which is in the future; set the clock/,
    )
    sealAgain(backup, (text) => text.replace(/"schema_version":\d+/, '"schema_version":99'))
    await expect(restoreDirectory({ ...options, nowMs: Date.now() })).rejects.toThrow(
      /expected a directory of version \d+ or earlier, found 99; a newer Portcullis wrote it$/,
    )
  })

  test.each<[what: string, change: (text: string) => string]>([
    ['an unknown table', (text) => text.replace('["users",', '["sqlite_master",')],
    ['a column that is SQL', (text) => text.replace('"account_id":', '"name) SELECT (1":')],
    ['a row too few', (text) => text.replace(/\n\["users",[^\n]+/, '')],
    ['a row that refers to a missing row', (text) => text.replace(/("account_id":")[0-9a-f]{4}/, '$10000')],
    ['a line that is not JSON', (text) => text.replace('["users",', 'canary["users",')],
    ['a value that is an object', (text) => text.replace('"enabled":1', '"enabled":{"a":1}')],
  ])('of a well-formed file with %s', async (_what, change) => {
    const { folder, backup, data } = await stopped()
    sealAgain(backup, change)
    const before = contentOf(folder)
    expect(await refused('restore', backup, '--replace', ...data)).toMatch(
      /the backup cannot be loaded \(|: expected lines of JSON behind the first one$/m,
    )
    expect(contentOf(folder)).toEqual(before)
  })
})

test.each([
  ['a word', 'canary{', /^[^:]+: expected lines of JSON behind the first one$/],
  ['nothing', 'null', /^[^:]+: expected the backup of keys$/],
])(
  'a backup of keys with %s in place of them is refused without a word of it',
  async (_what, line, expected) => {
    const path = newBackup()
    await writeSealed(path, 'keys', (append) => append({}))
    sealAgain(path, () => `${line}\n`)
    await expect(readBackedUpKeys(path)).rejects.toThrow(expected)
  },
)

/** Changes a backup and computes its digest again. */
function sealAgain(backup: string, change: (text: string) => string): void {
  const [header = '', ...lines] = readFileSync(backup, 'utf8').split('\n')
  const body = change(lines.join('\n'))
  expect(body).not.toBe(lines.join('\n'))
  const sha256 = hash('sha256', body)
  writeFileSync(backup, `${header.replace(/[0-9a-f]{64}/, sha256)}\n${body}`)
}

describe('a restoration that was killed', () => {
  const nameOf = (digit: number) => `.restore-${String(digit).repeat(16)}.tmp`

  /**
   * Leaves what a killed restoration can leave, and what one under way writes.
   *
   * @returns the name of the latter
   */
  function leaveFiles(folder: string): { readonly underWay: string } & Disposable {
    writeFileSync(join(folder, nameOf(1)), '')
    writeFileSync(join(folder, nameOf(2)), 'the beginning of a page')
    using complete = new DatabaseSync(join(folder, nameOf(3)))
    complete.exec('CREATE TABLE users (password_hash)')
    const underWay = nameOf(4)
    const writing = new DatabaseSync(join(folder, underWay))
    writing.exec('BEGIN; CREATE TABLE users (password_hash)')
    return { underWay, [Symbol.dispose]: () => writing.close() }
  }
  const leftIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.tmp'))

  test.each<[by: string, next: (folder: string, backup: string) => Promise<unknown>]>([
    ['restoration', (folder, backup) => done('restore', backup, '--replace', '--data', folder)],
    ['start', (folder) => runSidecar({ folder })],
  ])('leaves nothing beyond the next %s, which spares one that is under way', async (_by, next) => {
    const { folder, backup } = await stopped()
    using files = leaveFiles(folder)
    await next(folder, backup)
    expect(leftIn(folder)).toEqual([files.underWay])
  })
})
