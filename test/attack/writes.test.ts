/** Changes under attack: whoever writes much waits for themselves, and Checks are answered meanwhile. */
import { expect, test } from 'vitest'
import { scenario } from '../support/attack/scenario.ts'
import { attackedSidecar } from '../support/attack/scene.ts'
import { ACCOUNT } from '../support/sidecar.ts'

const scene = await attackedSidecar()

test('4,000 reissues of one control panel user at once hold up nobody', async () => {
  const about = { account: ACCOUNT, name: 'panel' }
  await scene.operator.directory.createControlPanelUser({ ...about, owner: false, roles: [] })
  const { token } = await scene.operator.directory.reissueControlPanelUserToken(about)
  const iamToken = token?.value ?? ''
  const attack = {
    type: 'reissues',
    atOnce: 4_000,
    iamToken,
    account: ACCOUNT,
    userName: 'panel',
    project: 'alpha',
  } as const
  const { outcome } = await scenario(scene, '4,000 reissues of one user at once', attack)
  // 100 at once, and then one a second; the others are refused before they write anything.
  expect(outcome.OK).toBeLessThan(300)
})
