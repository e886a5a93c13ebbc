/**
 * Changes under attack: a client that writes much waits for its own changes, and Checks are answered
 * meanwhile.
 */
import { expect, test } from 'vitest'
import { attackedSidecar } from '../support/attack/attack-scene.ts'
import { scenario } from '../support/attack/scenario.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const scene = await attackedSidecar()

test.each([
  ['4,000 reissues of one user at once', 4_000],
  ['19,000 reissues of one user at once', 19_000],
])('%s do not block others', async (name, atOnce) => {
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

test.each([
  ['2,000 revocations by an owner in flight', 'panel-owner', 8_000],
  ['2,000 revocations by the holder in flight', undefined, 8_000],
  ['2,000 revocations of one token in flight', undefined, 1],
])('%s do not block others', async (name, owner, count) => {
  const about = { account: ACCOUNT, name: owner ?? '' }
  if (owner !== undefined)
    await scene.operator.directory.createControlPanelUser({ ...about, owner: true, roles: [] })
  const iamToken =
    owner === undefined
      ? undefined
      : (await scene.operator.directory.reissueControlPanelUserToken(about)).token?.value
  const tokensFile = newFile(JSON.stringify(await tokensOf('alpha', count)), 'tokens.json')
  const attack = { type: 'revocations', inFlight: 2_000, tokensFile, ...(iamToken && { iamToken }) } as const
  const { outcome } = await scenario(scene, name, attack)
  expect(outcome.OK).toBeGreaterThan(100)
})

/** So many tokens of a user. */
async function tokensOf(userName: string, count: number): Promise<string[]> {
  const password = { userName, account: ACCOUNT, password: scene.secrets.passwordOf(userName) }
  const values: string[] = []
  while (values.length < count) {
    const issued = await Promise.all(
      Array.from({ length: Math.min(100, count - values.length) }, () =>
        scene.anybody.issue({ password, scope: { account: ACCOUNT, project: 'alpha' } }),
      ),
    )
    values.push(...issued.map(({ value }) => value))
  }
  return values
}
