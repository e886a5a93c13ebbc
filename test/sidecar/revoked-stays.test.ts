/**
 * What was revoked stays revoked: whatever the clock, the matrix and later changes do, and after restarts.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { connect } from '../support/sidecar/client.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const YEAR_MS = 365 * DAY_MS

/** The shipped matrix, with this lifetime of IAM tokens. */
function matrixWith(lifetimeSeconds: number): string {
  const tokenKinds = supportMatrix.tokenKinds.map((kind) =>
    kind.obtained.by === 'issue' ? { ...kind, lifetimeSeconds } : kind,
  )
  return JSON.stringify({ ...supportMatrix, tokenKinds })
}

let others = 0
/** The id of a token that does not exist. */
const anotherId = () => String(others++).padStart(22, '_')

/** A sidecar whose clock and lifetime of tokens can be set, with its operator. */
async function start(folder: string, clock: { nowMs: number }, matrix: string) {
  const running = await runSidecar({ folder, now: () => clock.nowMs, flags: { matrix, matrix_poll_ms: 0 } })
  const callerToken = readFileSync(join(folder, 'administrator-token'), 'utf8').trim()
  const operator = connect(running.address, { callerToken })
  whenTheFileEnds(() => operator.close())
  const reasonOf = async (value: string, header = 'X-Auth-Token') =>
    (
      await running.client.check({
        api: header === 'X-Token' ? 'reports' : 'dedicated-servers',
        credentials: [[header, value]],
      })
    ).reason
  return { running, operator, reasonOf }
}

test.each([73 * HOUR_MS, YEAR_MS, 20 * YEAR_MS])(
  'a revocation is kept when the clock jumps %d ms ahead, another token is revoked, and the clock comes back',
  async (jumpMs) => {
    const clock = { nowMs: Date.now() }
    const [folder, matrix] = [join(newFolder(), 'data'), newFile(matrixWith(86_400))]
    const first = await start(folder, clock, matrix)
    const secrets = await populate(first.running)
    const [revoked, byId] = [await issued(first.running, secrets), await issued(first.running, secrets)]
    await first.operator.revoke({ value: revoked.value })
    await first.operator.revoke({ tokenId: byId.tokenId })
    for (const offsetMs of [jumpMs, -jumpMs]) {
      clock.nowMs += offsetMs
      await first.operator.revoke({ tokenId: anotherId() })
      clock.nowMs -= offsetMs
    }
    for (const { value } of [revoked, byId]) expect(await first.reasonOf(value)).toBe('CREDENTIAL_REVOKED')
    await first.running.sidecar.close()
    const second = await start(folder, clock, matrix)
    for (const { value } of [revoked, byId]) expect(await second.reasonOf(value)).toBe('CREDENTIAL_REVOKED')
  },
)

test('a revocation by id outlives a token whose lifetime was longer than today’s', async () => {
  const clock = { nowMs: Date.now() }
  const matrix = newFile(matrixWith(30 * 86_400))
  const { running, operator, reasonOf } = await start(join(newFolder(), 'data'), clock, matrix)
  const { value, tokenId } = await issued(running, await populate(running))
  const digest = running.sidecar.matrixDigest
  writeFileSync(matrix, matrixWith(86_400))
  running.sidecar.reload()
  await eventually(() => running.sidecar.matrixDigest !== digest)
  await operator.revoke({ tokenId })
  for (const days of [1, 3, 4, 29]) {
    clock.nowMs += days * DAY_MS
    await operator.revoke({ tokenId: anotherId() })
    expect(await reasonOf(value)).toBe('CREDENTIAL_REVOKED')
    clock.nowMs -= days * DAY_MS
  }
})

const project = { account: ACCOUNT, name: 'alpha' }
const user = { account: ACCOUNT, name: 'alpha' }
test.each<[what: string, undo: 'disableAccount' | 'disableProject' | 'takePermission']>([
  ['the account is disabled and enabled', 'disableAccount'],
  ['the project is disabled and enabled', 'disableProject'],
  ['the permission is taken away and granted', 'takePermission'],
])('after %s again, old IAM tokens stay revoked and new ones are active', async (_what, undo) => {
  const clock = { nowMs: Date.now() }
  const matrix = newFile(matrixWith(86_400))
  const { running, operator, reasonOf } = await start(join(newFolder(), 'data'), clock, matrix)
  const secrets = await populate(running)
  const { directory } = operator
  const issue = () => issued(running, secrets, { user: 'alpha', project: 'alpha' })
  const { value } = await issue()
  expect(await reasonOf(value)).toBe('ALLOWED')
  const permissions = [{ scope: 2 as const, projects: ['alpha'] }]
  for (const enabled of [false, true]) {
    if (undo === 'disableAccount') await directory.updateAccount({ account: ACCOUNT, enabled })
    else if (undo === 'disableProject') await directory.updateProject({ ...project, enabled })
    else
      await directory.updateServiceUser({
        ...user,
        permissions: { permissions: enabled ? permissions : [] },
      })
    expect(await reasonOf(value)).toBe('CREDENTIAL_REVOKED')
  }
  expect(await reasonOf((await issue()).value)).toBe('ALLOWED')
  // A static token never expires and is stored in machines. Disabling only pauses it; revoking ends it.
  expect(await reasonOf(secrets.staticToken, 'X-Token')).toBe('ALLOWED')
})
