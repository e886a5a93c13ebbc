/**
 * A sidecar that is killed while it revokes: what it acknowledged is kept. By hand, for as long as you like:
 * KILLS=180 npx vitest run test/sidecar/kills.test.ts
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connect } from '../../clients/typescript/index.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { serve } from '../support/processes/processes.ts'
import { issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder } from '../support/suite/resources.ts'

const KILLS = Number(process.env.KILLS ?? 2)
/** Revocations in flight when the process is killed; some of them are acknowledged before. */
const REVOCATIONS = 100

test(`every revocation that was acknowledged before one of ${KILLS} kills is kept`, {
  timeout: 0,
}, async () => {
  const folder = join(newFolder(), 'data')
  const base = await runSidecar({ folder })
  const secrets = await populate(base)
  const random = randomFrom(KILLS)
  let kept = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const tokens: string[] = []
    for (let index = 0; index < REVOCATIONS; index++) tokens.push((await issued(base, secrets)).value)
    const victim = await serve(['--data', folder])
    const client = connect(victim.ready.grpc)
    const acknowledged: string[] = []
    const revoking = tokens.map((value) =>
      client.revoke({ value }).then(
        () => acknowledged.push(value),
        () => {},
      ),
    )
    const soon = 1 + Math.floor(random() * REVOCATIONS * 0.9)
    await eventually(() => acknowledged.length >= soon)
    victim.signal('SIGKILL')
    await Promise.all([victim.ended, ...revoking])
    client.close()
    const checks = acknowledged.map((value) => ({
      api: 'iam',
      credentials: [['X-Auth-Token', value]] as const,
    }))
    const answers = await base.client.checkBatch(checks)
    expect(answers.filter(({ reason }) => reason !== 'CREDENTIAL_REVOKED')).toEqual([])
    kept += acknowledged.length
  }
  expect(kept).toBeGreaterThanOrEqual(KILLS)
  process.stderr.write(`${kept} revocations were acknowledged before ${KILLS} kills, and all are kept\n`)
})
