/** The file of a token is replaced as a whole, for its permitted readers alone. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { IssuedToken } from '../../clients/typescript/index.ts'
import { formatToken } from '../../sidecar/cli/agent/formats.ts'
import { numberOf, replaceFile } from '../../sidecar/cli/agent/token-file.ts'
import type { TokenFormat } from '../../sidecar/config/agent-config.ts'
import { newFolder } from '../support/suite/resources.ts'

const OWN = { uid: undefined, gid: undefined }
const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8)

test.each([0o600, 0o640, 0o444])('the mode is %o, whatever the umask and the mode before', (mode) => {
  const file = join(newFolder(), 'token')
  writeFileSync(file, 'old', { mode: 0o666 })
  const before = process.umask(0o077)
  try {
    replaceFile(file, 'new', { mode, ...OWN })
  } finally {
    process.umask(before)
  }
  expect({ mode: modeOf(file), text: readFileSync(file, 'utf8') }).toEqual({
    mode: mode.toString(8),
    text: 'new',
  })
})

test('a reader who has the old file open goes on reading the old token', () => {
  const file = join(newFolder(), 'token')
  replaceFile(file, 'old', { mode: 0o600, ...OWN })
  const { ino } = statSync(file)
  replaceFile(file, 'new', { mode: 0o600, ...OWN })
  expect(statSync(file).ino).not.toBe(ino)
})

test('nothing is left beside the file, and what a killed agent left there is replaced', () => {
  const folder = newFolder()
  const file = join(folder, 'token')
  writeFileSync(join(folder, '.token.portcullis-agent'), 'half', { mode: 0o666 })
  replaceFile(file, 'new', { mode: 0o600, ...OWN })
  expect(readdirSync(folder)).toEqual(['token'])
  mkdirSync(join(folder, 'taken'))
  expect(() => replaceFile(join(folder, 'taken'), 'new', { mode: 0o600, ...OWN })).toThrow('EISDIR')
  expect(readdirSync(folder).toSorted()).toEqual(['taken', 'token'])
})

test('a link in its place is replaced, and not followed', () => {
  const folder = newFolder()
  const elsewhere = join(folder, 'elsewhere')
  writeFileSync(elsewhere, 'untouched')
  const file = join(folder, 'token')
  symlinkSync(elsewhere, file)
  symlinkSync(elsewhere, join(folder, '.token.portcullis-agent'))
  replaceFile(file, 'new', { mode: 0o600, ...OWN })
  expect(lstatSync(file).isSymbolicLink()).toBe(false)
  expect(readFileSync(elsewhere, 'utf8')).toBe('untouched')
})

test('users and groups are known by name and number', () => {
  expect([
    numberOf('passwd', 'root'),
    numberOf('group', 'root'),
    numberOf('passwd', 12),
    numberOf('group', '34'),
  ]).toEqual([...[0, 0, 12, 34]])
  expect(() => numberOf('passwd', 'nobody-of-this-name')).toThrow('expected the name of a user, or a number')
  expect(() => numberOf('group', '--help')).toThrow('expected the name of a group, or a number')
})

const as = (uid: number) => process.getuid?.() === uid

test('the owner is set', () => {
  const file = join(newFolder(), 'token')
  // Only root may give files away. Every user may keep them.
  const uid = as(0) ? 65_534 : (process.getuid?.() ?? 0)
  replaceFile(file, 'new', { mode: 0o640, uid, gid: undefined })
  expect({ uid: statSync(file).uid, mode: modeOf(file) }).toEqual({ uid, mode: '640' })
})

const TOKEN: IssuedToken = {
  header: 'X-Auth-Token',
  scheme: '',
  value: 'abc.DEF-_~',
  headerValue: 'abc.DEF-_~',
  kind: 'iam_token_project_scoped',
  scope: { account: '123456', project: 'web' },
  tokenId: 'id',
  issuedAt: new Date('2026-11-22T00:00:00.500Z'),
  expiresAt: new Date('2026-11-23T00:00:00.500Z'),
  conflicts: [],
}

describe('formats', () => {
  test.each<[TokenFormat, string]>([
    ['value', 'abc.DEF-_~\n'],
    ['header', 'X-Auth-Token: abc.DEF-_~\n'],
    [
      'json',
      '{"header":"X-Auth-Token","value":"abc.DEF-_~","kind":"iam_token_project_scoped","scope":{"account":"123456","project":"web"},"token_id":"id","issued_at":"2026-11-22T00:00:00.500Z","expires_at":"2026-11-23T00:00:00.500Z"}\n',
    ],
    [
      'exec-credential',
      '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"abc.DEF-_~","expirationTimestamp":"2026-11-23T00:00:00Z"}}\n',
    ],
    [
      'env',
      'PORTCULLIS_TOKEN=abc.DEF-_~\nPORTCULLIS_TOKEN_HEADER=X-Auth-Token\nPORTCULLIS_TOKEN_EXPIRES_AT=2026-11-23T00:00:00.500Z\n',
    ],
  ])('%s', (format, text) => {
    expect(formatToken(format, TOKEN)).toBe(text)
  })

  test.each<[TokenFormat, string]>([
    ['value', 'abc\n'],
    ['header', 'Authorization: Basic OmFiYw==\n'],
    ['json', '{"header":"Authorization","scheme":"Basic","basic":"password","value":"abc","kind"'],
    [
      'env',
      'PORTCULLIS_TOKEN=abc\nPORTCULLIS_TOKEN_HEADER=Authorization\nPORTCULLIS_TOKEN_SCHEME=Basic\nPORTCULLIS_TOKEN_BASIC=password\n',
    ],
  ])('%s of a token that is the password of Basic', (format, text) => {
    const sentIn = { header: 'Authorization', scheme: 'Basic', basic: 'password' } as const
    const token = { ...TOKEN, ...sentIn, value: 'abc', headerValue: 'Basic OmFiYw==' }
    expect(formatToken(format, token).startsWith(text)).toBe(true)
  })

  test('a token without an expiry', () => {
    const token = { ...TOKEN, issuedAt: undefined, expiresAt: undefined }
    expect(formatToken('exec-credential', token)).not.toContain('expirationTimestamp')
    expect(formatToken('env', token)).toBe(
      'PORTCULLIS_TOKEN=abc.DEF-_~\nPORTCULLIS_TOKEN_HEADER=X-Auth-Token\n',
    )
  })

  test.each<[claim: string, format: TokenFormat, value: string]>([
    ['a line break', 'header', 'a\nX-Other: b'],
    ['a space', 'value', 'a b'],
    ['no character', 'value', ''],
    ['a quote', 'env', "a'b"],
    ['a backslash', 'env', 'a\\b'],
  ])('a token with %s is not written as %s', (_claim, format, value) => {
    expect(() => formatToken(format, { ...TOKEN, value })).toThrow('expected a token')
  })

  test('characters that mean something to a shell are quoted', () => {
    expect(formatToken('env', { ...TOKEN, value: 'a$(b);"c' })).toContain(`PORTCULLIS_TOKEN='a$(b);"c'\n`)
  })
})

test('the folder must exist', () => {
  const file = join(newFolder(), 'none', 'token')
  expect(() => replaceFile(file, 'new', { mode: 0o600, ...OWN })).toThrow('ENOENT')
  expect(existsSync(file)).toBe(false)
})
