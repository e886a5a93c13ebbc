/**
 * A revoked token stays revoked, whatever the clock and the matrix do, and after restarts.
 * `test/directory/contract/revoked.ts` searches for a history that brings a token back.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { connect } from '../support/sidecar/client.ts'
import { issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const DAY_MS = 86_400_000
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
  const reasonOf = async (value: string) =>
    (await running.client.check({ api: 'dedicated-servers', credentials: [['X-Auth-Token', value]] })).reason
  return { running, operator, reasonOf }
}

test('a revocation is kept when the clock jumps, another token is revoked, and the clock comes back', async () => {
  const clock = { nowMs: Date.now() }
  const [folder, matrix] = [join(newFolder(), 'data'), newFile(matrixWith(86_400))]
  const first = await start(folder, clock, matrix)
  const secrets = await populate(first.running)
  const [revoked, byId] = [await issued(first.running, secrets), await issued(first.running, secrets)]
  await first.operator.revoke({ value: revoked.value })
  await first.operator.revoke({ tokenId: byId.tokenId })
  for (const offsetMs of [20 * YEAR_MS, -20 * YEAR_MS]) {
    clock.nowMs += offsetMs
    await first.operator.revoke({ tokenId: anotherId() })
    clock.nowMs -= offsetMs
  }
  for (const { value } of [revoked, byId]) expect(await first.reasonOf(value)).toBe('CREDENTIAL_REVOKED')
  await first.running.sidecar.close()
  const second = await start(folder, clock, matrix)
  for (const { value } of [revoked, byId]) expect(await second.reasonOf(value)).toBe('CREDENTIAL_REVOKED')
})

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
