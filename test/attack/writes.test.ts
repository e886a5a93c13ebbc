/** Changes under attack: whoever writes much waits for themselves, and Checks are answered meanwhile. */
import { expect, test } from 'vitest'
import { attackedSidecar, RATIO_MAX, ratio, report, under } from '../support/attack/scene.ts'
import { ACCOUNT } from '../support/sidecar.ts'

const scene = await attackedSidecar()

test('4,000 reissues of one control panel user at once hold up nobody', async () => {
  const about = { account: ACCOUNT, name: 'panel' }
  await scene.operator.directory.createControlPanelUser({ ...about, owner: false, roles: [] })
  const { token } = await scene.operator.directory.reissueControlPanelUserToken(about)
  const iamToken = token?.value ?? ''
  const quiet = { checks: await scene.neighbour(3_000), revocations: await scene.revocations(100) }
  const before = await rows()
  const attack = {
    type: 'reissues',
    atOnce: 4_000,
    iamToken,
    account: ACCOUNT,
    userName: 'panel',
    project: 'alpha',
  } as const
  const { result, outcome } = await under(scene, attack, async () => {
    const [checks, revocations] = await Promise.all([scene.neighbour(5_000), scene.revocations(100)])
    return { checks, revocations }
  })
  const written = (await rows()) - before
  report('4,000 reissues at once', {
    'check p50': ratio(result.checks.p50, quiet.checks.p50),
    'check p99': ratio(result.checks.p99, quiet.checks.p99),
    'revocation p50': ratio(result.revocations.p50, quiet.revocations.p50),
    'revocation p99': ratio(result.revocations.p99, quiet.revocations.p99),
    'audit rows': written,
    'peak RSS': `${scene.peakMegabytes()} MB`,
    attacker: JSON.stringify(outcome),
  })
  expect(result.checks.failures).toEqual([])
  expect(result.revocations.failures).toEqual([])
  expect(written).toBeLessThan(1_000)
  expect(scene.peakMegabytes()).toBeLessThan(512)
  expect(result.checks.p50 / quiet.checks.p50).toBeLessThan(RATIO_MAX)
  expect(result.revocations.p50 / quiet.revocations.p50).toBeLessThan(RATIO_MAX)
})

/** Number of the last record of the audit trail. */
async function rows(): Promise<number> {
  let [last, pageToken] = [0, '']
  do {
    const page = await scene.operator.directory.listAuditRecords({ pageSize: 1000, pageToken })
    last = Number(page.records.at(-1)?.sequence ?? last)
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return last
}
