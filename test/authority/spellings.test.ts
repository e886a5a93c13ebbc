/**
 * The prefix of a kind is a word of the matrix, and a token outlives it. Whatever matrix is in force, a token
 * is revoked and found as it is written anywhere, and opens only as its kind is written now.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Matrix } from '../../engine/index.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { askAt, startIdentity, TOKENS } from '../support/identity/identity.ts'
import { command } from '../support/processes/command-line.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const LIBRARY = join(import.meta.dirname, '../../examples/matrices/city-library.json')
const library = JSON.parse(readFileSync(LIBRARY, 'utf8')) as Matrix
const log = join(newFolder(), 'decisions.log')

const { running, passwordOf } = await startIdentity({
  flags: { matrix: LIBRARY, 'decision_log.file.path': log },
})
const { client, folder } = running
const password = { userName: 'account', account: ACCOUNT, password: passwordOf('account') }
const badge = async () => (await client.issue({ password, scope: { account: ACCOUNT } })).value
let keys = 0
const key = async (): Promise<string> => {
  const owner = { name: 'owner', static_tokens: [`key ${keys++}`] }
  const accounts = [{ account: ACCOUNT, control_panel_users: [owner] }]
  const { secrets } = await applyFile(running.sidecar.administration, TESTER, { accounts })
  return secrets[0]?.value.reveal() ?? ''
}
const check = (authorization: string, api = 'catalogue') =>
  client.check({ api, credentials: [['Authorization', authorization]] })

/** The library's matrix with other kinds. */
function matrixWith(change: (kind: Matrix['tokenKinds'][number]) => object | undefined): Matrix {
  const tokenKinds = library.tokenKinds.flatMap((kind) => {
    const changes = change(kind)
    return changes === undefined ? [] : [{ ...kind, ...changes }]
  })
  const ids = new Set(tokenKinds.map(({ id }) => id))
  const apis = library.apis.map((api) => ({ ...api, accepts: api.accepts.filter((id) => ids.has(id)) }))
  return { ...library, tokenKinds, apis, statements: [], conflicts: [] }
}

/** The matrices of now. The tokens are older: they were issued under that of the library. */
const NOW: Readonly<Record<string, Matrix>> = {
  'the same': library,
  'other prefixes': matrixWith(({ id }) => ({ prefix: `${id.slice(0, 3)}_` })),
  'one prefix': matrixWith(({ id }) =>
    id === 'branch_badge' ? {} : { prefix: undefined, scheme: undefined, header: `X-${id.slice(0, 5)}` },
  ),
  'fewer kinds': matrixWith(({ id }) => (id === 'branch_badge' ? {} : undefined)),
  'another permission': matrixWith(({ id }) =>
    id === 'staff_badge' ? { permissionScopes: ['projects'] } : {},
  ),
}
const hosts = new Map(
  await Promise.all(
    Object.entries(NOW).map(async ([name, matrix]) => {
      const flags = { matrix: newFile(JSON.stringify(matrix), 'matrix.json'), 'http.address': '127.0.0.1:0' }
      return [name, await runSidecar({ folder, flags })] as const
    }),
  ),
)
const hostOf = (matrix: string) => hosts.get(matrix) as Awaited<ReturnType<typeof runSidecar>>

describe.each(Object.keys(NOW))('under a matrix: %s', (name) => {
  const { sidecar, connect } = hostOf(name)
  const administrator = connect({
    callerToken: readFileSync(join(folder, 'administrator-token'), 'utf8').trim(),
  })

  test.each<[spelling: string, of: (own: string) => string]>([
    ['as it was issued', (own) => `stf_${own}`],
    ['without a prefix', (own) => own],
    ['behind the prefix of another kind', (own) => `brb_${own}`],
    ['behind a prefix that no matrix has now', (own) => `old_${own}`],
  ])('a badge revokes itself %s', async (_spelling, of) => {
    const value = await badge()
    await connect().revoke({ value: of(value.slice('stf_'.length)) })
    expect(await check(`Bearer ${value}`)).toMatchObject({ reason: 'CREDENTIAL_REVOKED' })
  })

  test('a badge is deleted at the identity endpoint as it was issued, once', async () => {
    const value = await badge()
    const by = await connect().issue({ password, scope: { account: ACCOUNT, project: 'alpha' } })
    const port = Number(sidecar.httpAddress?.split(':').at(-1))
    const headers = { [by.header]: by.headerValue, 'x-subject-token': value }
    const statusOf = async () => (await askAt(port, { method: 'DELETE', path: TOKENS, headers })).status
    expect(await statusOf()).toBe(204)
    expect(await check(`Bearer ${value}`)).toMatchObject({ reason: 'CREDENTIAL_REVOKED' })
    expect(await statusOf()).toBe(404)
  })

  test.each([['as it is'], ['behind a prefix']])('a kiosk key is revoked %s', async (spelling) => {
    const value = await key()
    await administrator.revoke({ value: spelling === 'as it is' ? value : `ksk_${value}` })
    expect(await check(`Kiosk ${value}`, 'printers')).toMatchObject({ reason: 'CREDENTIAL_REVOKED' })
  })
})

test('a token of a kind without a prefix does not open behind the prefix of another kind', async () => {
  const { client } = hostOf('one prefix')
  const { header, value } = await client.issue({ password, scope: { account: ACCOUNT } })
  const ask = (credential: string) => client.check({ api: 'catalogue', credentials: [[header, credential]] })
  expect(await ask(value)).toMatchObject({ allowed: true })
  expect(await ask(`brb_${value}`)).toMatchObject({ allowed: false, reason: 'WRONG_HEADER' })
})

describe('the decisions about a token are found', () => {
  const found = async (copied: string) => {
    const words = ['decisions', log, '--data', folder, '--token-file', newFile(copied), '--count']
    const { code, stdout, stderr } = await command(words)
    return { code, stdout, stderr }
  }
  let marks = 0
  /** Waits until the decisions about these are in the log. */
  const logged = async (requests: readonly string[]) => {
    const mark = `mark-${marks++}`
    for (const authorization of requests) await check(authorization)
    await check('Bearer any', mark)
    await eventually(() => existsSync(log) && readFileSync(log, 'utf8').includes(mark))
  }

  test('however it was written, and however it is copied', async () => {
    const value = await badge()
    const own = value.slice('stf_'.length)
    await logged([`Bearer ${value}`, `Bearer brb_${own}`, `Bearer ${own}`])
    const spellings = [
      value,
      own,
      `old_${own}`,
      `Bearer ${value}`,
      `Authorization: Bearer ${value}`,
      `x:brb_${own}`,
    ]
    for (const copied of spellings)
      expect([copied.replace(own, 'TOKEN'), await found(copied)]).toEqual([
        copied.replace(own, 'TOKEN'),
        { code: 0, stdout: '3\n', stderr: '' },
      ])
  })

  test('behind the scheme of its kind', async () => {
    const value = await key()
    await logged([`Kiosk ${value}`, `Kiosk ${value}`, `Bearer ${value}`])
    for (const copied of [`Kiosk ${value}`, `authorization:\tkiosk  ${value} `, `ksk_${value}`])
      expect(await found(copied)).toEqual({ code: 0, stdout: '3\n', stderr: '' })
  })

  test.each([
    ['words', 'Kiosk of the hall pcst_secret'],
    ['two headers', 'X-Token: Authorization: pcst_secret'],
    ['a list', 'pcst_secret,pcst_other'],
    ['a letter that no token has', 'pcst_s\u00e9cret'],
  ])('but not in %s: that is refused', async (_what, copied) => {
    const { code, stdout, stderr } = await found(copied)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('--token-file: expected one token, alone or behind its header and its scheme')
    expect(stderr).not.toContain('secret')
  })
})
