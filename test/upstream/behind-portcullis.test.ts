/** A sidecar before another one: its upstream signs tokens of the form that its own directory signs. */
import { expect, test } from 'vitest'
import { ACCOUNT, peopleWithAdministrator, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const central = await runSidecar({ flags: { 'http.address': '127.0.0.1:0' } })
const people = await populate(central, peopleWithAdministrator('validator'))

/** A sidecar on another host. @param prefixes of the tokens that the upstream claims */
async function before(prefixes?: readonly string[]) {
  const CALLER = 'behind-caller-token-0123456789abcdef'
  const profileOf = (name: string) => ({
    ...{
      upstream: 'central',
      account: ACCOUNT,
      user_name: name,
      password_file: newFile(people.passwordOf(name)),
    },
  })
  const verify = { profile: 'validator', ...(prefixes && { token_prefixes: prefixes }) }
  const config = newFile(
    JSON.stringify({
      upstreams: {
        central: { auth_url: `http://${central.sidecar.httpAddress}`, timeout_ms: 60_000, verify },
      },
      profiles: { job: profileOf('account'), validator: profileOf('validator') },
      callers: [{ name: 'job', token_file: newFile(CALLER), profiles: ['job'] }],
    }),
  )
  const running = await runSidecar({ config })
  return { running, client: running.connect({ callerToken: CALLER }) }
}

const question = { profile: 'job', scope: { account: ACCOUNT, project: 'alpha' } } as const

test('an upstream that claims such tokens verifies those that the own directory did not sign', async () => {
  const { running, client } = await before(['eyJ'])
  const { value } = await client.issue(question)
  const check = () => client.check({ api: 'cdn', credentials: { 'X-Auth-Token': value } })
  expect(await check()).toMatchObject({
    allowed: true,
    token: { authority: 'central', scope: question.scope },
  })
  await running.client.revoke({ value })
  expect(await check()).toMatchObject({ allowed: false })
})

test('one that does not is not asked about them', async () => {
  const { client } = await before()
  const { value } = await client.issue(question)
  expect(await client.check({ api: 'cdn', credentials: { 'X-Auth-Token': value } })).toMatchObject({
    allowed: false,
    reason: 'CREDENTIAL_INVALID',
  })
})
