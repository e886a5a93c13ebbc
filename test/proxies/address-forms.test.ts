/**
 * An address is the same in each form in which gateways write it, whatever protocol it comes in. Another text
 * is not an address for decisions, records and the throttle.
 */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PASSWORD, SESSION, startPanel } from '../support/console/control-panel.ts'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox, type Message } from '../support/contract/black-box.ts'
import { askAt, loginBody, startIdentity, TOKENS } from '../support/identity/identity.ts'
import { ENVOY_TOKEN, peopleBehindEnvoy } from '../support/proxies/behind-envoy.ts'
import { EnvoyClient } from '../support/proxies/ext-authz.ts'
import { httpBehindProxy, PROXY_SECRET } from '../support/proxies/proxied.ts'
import { linesIn } from '../support/signals/decision-log.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const people = await peopleBehindEnvoy()
const path = join(newFolder(), 'decisions.log')
const running = await people.run({
  ...{ 'http.address': '127.0.0.1:0', 'http.authzen': true, 'decision_log.file.path': path },
})
const port = Number(running.sidecar.httpAddress?.split(':').at(-1))
const box = new BlackBox(running.address)
const envoy = new EnvoyClient(running.address)

const TOKEN = ['x-auth-token', people.restricted] as const
const behind = (forwarded: string) => ({
  ...{ 'x-portcullis-proxy-secret': PROXY_SECRET, 'x-forwarded-for': forwarded },
  [TOKEN[0]]: TOKEN[1],
})
const viaEnvoy = async (headers: readonly (readonly [string, string])[], hops: string, from?: string) => {
  const context = { api: 'balance', trusted_hops: hops }
  const verdict = await envoy.ask({ headers: [TOKEN, ...headers], context, ...(from && { from }) })
  return verdict.allowed
}

/** Whether the token may pass that an account with 203.0.113.0/24 has, where an address is written so. */
const PROTOCOLS: Record<string, (text: string) => Promise<boolean>> = {
  Check: async (text) => {
    const question = { ...credentialQuestion('balance', ...TOKEN), client_address: text }
    return ((await box.ask('check', question)) as Message).allowed as boolean
  },
  AuthZEN: async (text) => {
    const subject = { type: 'credential', id: 'r', properties: { headers: { [TOKEN[0]]: TOKEN[1] } } }
    const resource = { type: 'api', id: 'balance' }
    const body = { subject, resource, action: { name: 'call' }, context: { client_address: text } }
    const headers = { authorization: `Bearer ${ENVOY_TOKEN}` }
    const { json } = await askAt(port, { method: 'POST', path: '/access/v1/evaluation', headers, body })
    return json.decision
  },
  'ext_authz, of the connection to Envoy': (text) => viaEnvoy([], '0', text),
  'ext_authz, of X-Forwarded-For': (text) => viaEnvoy([['x-forwarded-for', text]], '1'),
  'ext_authz over HTTP': async (text) =>
    (await askAt(port, { path: '/ext-authz/api=balance/v1', headers: behind(text) })).status === 200,
  'ext_authz over HTTP, by hops': async (text) =>
    (await askAt(port, { path: '/ext-authz/api=balance,trusted_hops=1/v1', headers: behind(text) }))
      .status === 200,
  '/authorize': async (text) =>
    (await askAt(port, { path: '/authorize/balance', headers: behind(text) })).status === 200,
  'the identity endpoint': async (text) =>
    (await askAt(port, { path: '/identity/v3/auth/catalog', headers: behind(text) })).status === 200,
}

describe.each(Object.entries(PROTOCOLS))('%s', (_protocol, allows) => {
  test.each([
    ['203.0.113.5', true],
    ['203.0.113.5:50001', true],
    ['"203.0.113.5:50001"', true],
    ['::ffff:203.0.113.5', true],
    ['[::FFFF:203.0.113.5]:443', true],
    ['198.51.100.1:50001', false],
    ['[2001:db8::1]:443', false],
    ['unknown', false],
    ['_hidden', false],
    ['fe80::1%eth0', false],
  ])('reads %s', async (text, allowed) => {
    expect(await allows(text)).toBe(allowed)
  })
})

test('the log of decisions has addresses in one form, and nothing else in their place', async () => {
  // All but the identity endpoint decide.
  const decisions = 10 * (Object.keys(PROTOCOLS).length - 1)
  await eventually(() => linesIn(path).length >= decisions)
  const found = new Set(linesIn(path).map(({ client_address: address }) => address))
  expect([...found].sort()).toEqual(['198.51.100.1', '2001:db8::1', '203.0.113.5', undefined])
})

test('a session of the control panel and its records have the address in its form, or as unknown', async () => {
  const config = newFile(JSON.stringify({ http: httpBehindProxy({}) }), 'config.json')
  const { running: panel, browser, invite } = await startPanel({ config })
  const addresses: unknown[] = []
  for (const [user, forwarded] of [
    ['olga', '203.0.113.5:50001'],
    ['pia', '_hidden'],
  ] as const) {
    const [shown, secret] = [browser(), await invite(user)]
    const headers = { 'x-portcullis-proxy-secret': PROXY_SECRET, 'x-forwarded-for': forwarded }
    await shown.post(`${SESSION}/invitation/accept`, { secret, password: PASSWORD }, headers)
    addresses.push((await shown.get(SESSION, headers)).json.address)
  }
  const records = await panel.sidecar.administration.records.audit('', { after: '0', size: 1_000 })
  const recorded = records.flatMap(({ action, details: { by } }) =>
    action === 'control_panel_user.log_in' ? [(by as { address: string }).address] : [],
  )
  expect([addresses, recorded]).toEqual(Array(2).fill(['203.0.113.5', 'unknown']))
})

describe('failed logins', async () => {
  const config = newFile(JSON.stringify({ http: httpBehindProxy({}) }), 'config.json')
  const flags = { 'login_throttle.failures': 3, 'login_throttle.pause_ms': 3_600_000 }
  const { ask, running: throttled } = await startIdentity({ config, flags })
  const statusFrom = async (forwarded: string, user: string) => {
    const headers = { 'x-portcullis-proxy-secret': PROXY_SECRET, 'x-forwarded-for': forwarded }
    return (
      await ask({ method: 'POST', path: TOKENS, headers, body: loginBody({ user, password: 'wrong' }) })
    ).status
  }

  test.each<[claim: string, user: string, from: string[], other: string]>([
    [
      'of one address count together, whatever its port is',
      'account',
      ['192.0.2.10:50001', '192.0.2.10:50002', '[::ffff:192.0.2.10]:50003', '192.0.2.10'],
      '192.0.2.11:50001',
    ],
    [
      'without an address count together, whatever stands there',
      'alpha',
      ['unknown', '_one', '_two', 'fe80::1%eth0'],
      '192.0.2.10',
    ],
  ])('%s', async (_claim, user, from, other) => {
    const statuses: number[] = []
    for (const each of from) statuses.push(await statusFrom(each, user))
    expect(statuses).toEqual([401, 401, 401, 429])
    expect(await statusFrom(other, user)).toBe(401)
  })

  test('are logged with addresses, or as unknown', () => {
    const lines = throttled.logLines.map((line) => JSON.parse(line))
    const found = new Set(lines.flatMap(({ address }) => (address === undefined ? [] : [address])))
    expect([...found].sort()).toEqual(['192.0.2.10', '192.0.2.11', 'unknown'])
  })
})
