/**
 * Over the wire: what a user had before their rights rose logs no user in, administers nothing and makes no
 * owner afterwards.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Client } from '../../clients/typescript/index.ts'
import { run } from '../../sidecar/usecases/administration/run.ts'
import type { Browser } from '../support/console/control-panel.ts'
import { SESSION } from '../support/console/control-panel.ts'
import { FactorStage, NEW_PASSWORD } from '../support/identity/factor-stage.ts'
import { codeAt } from '../support/identity/totp.ts'
import { command, FakeTerminal } from '../support/processes/command-line.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const account = ACCOUNT
const stage = await FactorStage.start()
const { running } = stage.panel
const operator = running.connect({
  callerToken: readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim(),
})
const olga = await stage.accept('olga')

/** Applies a directory file by the command, which changes the store itself. */
async function apply(users: object): Promise<string> {
  const file = newFile(JSON.stringify({ accounts: [{ account, ...users }] }), 'directory.json')
  const { code, stdout, stderr } = await command(
    ['directory', 'apply', file, '--data', running.folder, '--yes'],
    new FakeTerminal(),
  )
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

const RISEN = 'rights rose, so what these users logged in with before has ended'

/** Ways in which a person comes to administer the account. */
const WAYS: readonly (readonly [claim: string, rise: (name: string) => Promise<unknown>])[] = [
  [
    'an owner makes an owner, on the page,',
    async (name) => {
      const answer = await olga.call('UpdateControlPanelUser', { account, name, owner: true })
      expect(answer.json).toMatchObject({ credentialsEnded: true })
    },
  ],
  [
    'a directory file gives iam.admin to',
    async (name) => {
      expect(await apply({ control_panel_users: [{ name, roles: ['iam.admin'] }] })).toContain(RISEN)
    },
  ],
]

/** A user who has all that people log in with. */
async function equipped() {
  const { name, shown } = await stage.newPerson()
  const secret = await stage.setCode(shown)
  const { authenticator } = await stage.addPasskey(shown)
  const { value } = await run(stage.administration, TESTER, 'reissueControlPanelUserToken', { account, name })
  const { links } = await stage.administration.controlPanel()
  const link = (await links.create(TESTER, account, name, 'login')).secret.reveal()
  const invitation = await stage.panel.invite(name)
  return { name, shown, secret, authenticator, token: value.reveal(), link, invitation }
}

/** What the holder of an IAM token can do to others: here, to make an owner, as with the token of one. */
async function makesAnOwner(client: Client): Promise<unknown> {
  const { name } = await stage.newPerson()
  return client.directory
    .updateControlPanelUser({ account, name, owner: true })
    .then(() => 'made')
    .catch(({ reason }) => reason)
}

describe.each(WAYS)('%s', (_claim, rise) => {
  test('somebody, whose credentials of before all end, until an invitation gives new ones', async () => {
    const { name, shown, secret, authenticator, token, link, invitation } = await equipped()
    const client = running.connect({ iamToken: token })
    const own = () => client.directory.getControlPanelUser({ account, name })
    expect((await own()).user).toMatchObject({ name })
    const stolen: Browser = stage.browser()
    stolen.takeSession(shown)
    const challenged = stage.browser()
    const answer = await stage.answerOf(authenticator, challenged)

    await rise(name)

    await expect(own()).rejects.toMatchObject({ reason: 'REQUESTER_NOT_AUTHENTICATED' })
    expect(await makesAnOwner(client)).toBe('REQUESTER_NOT_AUTHENTICATED')
    expect((await stolen.get(SESSION)).json).toMatchObject({ signedIn: false })
    const code = codeAt(secret, stage.clock.nowMs)
    expect((await stage.logIn(name, code)).json).toMatchObject({ reason: 'LOGIN_FAILED' })
    expect((await stage.logIn(name)).json).toMatchObject({ reason: 'LOGIN_FAILED' })
    const byPasskey = await challenged.post(`${SESSION}/passkey`, { response: answer })
    expect(byPasskey.json).toMatchObject({ reason: 'PASSKEY_REFUSED' })
    const byLink = await stage.browser().post(`${SESSION}/link`, { secret: link })
    expect(byLink.json).toMatchObject({ reason: 'LINK_INVALID' })
    const accepted = await stage
      .browser()
      .post(`${SESSION}/invitation/accept`, { secret: invitation, password: NEW_PASSWORD })
    expect(accepted.json).toMatchObject({ reason: 'LINK_INVALID' })

    const invited = await stage.accept(name)
    expect((await invited.get(SESSION)).json).toMatchObject({ who: { name, administrator: true } })
    expect((await stage.logIn(name)).status).toBe(200)
  })
})

test('a service user who gets iam.admin has no token that was being issued meanwhile', async () => {
  const name = 'busy robot'
  const permissions = [{ scope: 1 as const, projects: [] }]
  const { password } = await operator.directory.createServiceUser({ account, name, permissions, roles: [] })
  const issue = () =>
    running.client.issue({ password: { userName: name, account, password }, scope: { account } })
  const [first, ...others] = [issue(), issue(), issue(), issue()]
  await first
  const rising = operator.directory.updateServiceUser({ account, name, roles: { roles: ['iam.admin'] } })
  const issued = await Promise.allSettled([first, ...others, issue(), issue()])
  await rising
  for (const each of issued) {
    if (each.status === 'rejected') continue
    const credentials = [['X-Auth-Token', each.value.value]] as const
    expect(await running.client.check({ api: 'iam', credentials })).toMatchObject({
      reason: 'CREDENTIAL_REVOKED',
    })
  }
})
