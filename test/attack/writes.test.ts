/** Changes under attack: whoever writes much waits for themselves, and Checks are answered meanwhile. */
import { expect, test } from 'vitest'
import { scenario } from '../support/attack/scenario.ts'
import { attackedSidecar } from '../support/attack/scene.ts'
import { ACCOUNT } from '../support/sidecar.ts'

const scene = await attackedSidecar()

test.each([
  ['4,000 reissues of one user at once', 4_000],
  ['19,000 reissues of one user at once', 19_000],
])('%s hold up nobody', async (name, atOnce) => {
  const userName = `panel-${atOnce}`
  const about = { account: ACCOUNT, name: userName }
  await scene.operator.directory.createControlPanelUser({ ...about, owner: false, roles: [] })
  const { token } = await scene.operator.directory.reissueControlPanelUserToken(about)
  const iamToken = token?.value ?? ''
  const attack = { type: 'reissues', atOnce, iamToken, account: ACCOUNT, userName, project: 'alpha' } as const
  const { outcome } = await scenario(scene, name, attack)
  // 100 at once, and then one a second; the others are refused before they write anything.
  expect(outcome.OK).toBeLessThan(300)
})
