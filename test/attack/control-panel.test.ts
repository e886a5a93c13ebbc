/**
 * The control panel under attack: strangers who try to log in keep no check, no revocation and no operator
 * waiting.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { attackedSidecar, posting, timesOf } from '../support/attack/attack-scene.ts'
import { scenario } from '../support/attack/scenario.ts'
import { Browser, SESSION } from '../support/console/control-panel.ts'

const scene = await attackedSidecar({ http: { console: true, connect: true, control_panel: {} } })
const port = Number(scene.served.ready.http?.split(':').at(-1))
const token = readFileSync(join(scene.data, 'administrator-token'), 'utf8').trim()

/** An operator logs in and withdraws a user’s rights, as their page does it. */
async function operate(): Promise<void> {
  const browser = new Browser(port)
  const begun = await browser.post(`${SESSION}/operator`, { token })
  expect(begun).toMatchObject({ status: 200, json: { who: { type: 'operator' } } })
  const listed = await browser.call('ListAccounts', {})
  expect(listed.status).toBe(200)
}

describe.each([
  ['400 logins of the page in flight', 'logins'],
  ['400 logins of one user of the page in flight', 'logins of one user'],
  ['400 wrong caller tokens of the page in flight', 'caller tokens'],
  ['400 unknown links of the page in flight', 'links'],
  ['400 unknown invitations of the page in flight', 'invitations'],
  ['400 challenges for passkeys in flight', 'challenges'],
  ['400 confirmations of unknown sessions in flight', 'confirmations'],
] as const)('%s', (name, asPage) => {
  test('hold up no check, no revocation and no operator', async () => {
    const { outcome, also } = await scenario(scene, name, posting({ inFlight: 400, asPage }), () => {
      let left = 10
      return timesOf(() => left-- > 0, operate)
    })
    expect(also.failures).toEqual([])
    expect(Object.keys(outcome).filter((status) => !/^(200|401|429|503)$/.test(status))).toEqual([])
  })
})
