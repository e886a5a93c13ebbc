/**
 * A forwarded call is judged, throttled and recorded as where its client made it, over any number of hops.
 * Only a follower is believed about that.
 */
import { describe, expect, test } from 'vitest'
import { forwardedText } from '../../sidecar/base/forwarded-header.ts'
import { newRequestId } from '../../sidecar/base/request-id.ts'
import { BlackBox, contractService, directoryService, refusalOf } from '../support/contract/black-box.ts'
import { askAt } from '../support/identity/identity.ts'
import { httpBehindProxy, PROXY_SECRET } from '../support/proxies/proxied.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { relayFrom } from '../support/sidecar/relay.ts'
import {
  ACCOUNT,
  peopleWithAdministrator,
  populate,
  type RunningSidecar,
  runSidecar,
} from '../support/sidecar/sidecar.ts'
import { eventually, newFile } from '../support/suite/resources.ts'

const FOLLOWER = 'follower-caller-token-0123456789abcdef'
const CLERK = 'clerk-caller-token-0123456789abcdefgh'
const PROGRAM = 'program-caller-token-0123456789abcdef'
/** A caller of the followers alone. */
const GATEWAY = 'gateway-caller-token-0123456789abcdef'

const caller = (name: string, token: string, ...rights: string[]) => ({
  ...{ name, token_file: newFile(token), rights },
})
const CALLERS = [
  caller('follower', FOLLOWER, 'follow'),
  caller('clerk', CLERK, 'everything'),
  caller('program', PROGRAM, 'revoke'),
]
const configOf = (config: object) => newFile(JSON.stringify(config), 'portcullis.json')

const hub = await runSidecar({
  config: configOf({ callers: CALLERS }),
  flags: { 'login_throttle.failures': 3, 'login_throttle.pause_ms': 3_600_000 },
})
const { run } = hub.sidecar
const secrets = await populate(hub, peopleWithAdministrator('administrator'))
const { value: iamToken } = await hub.client.issue({
  password: {
    userName: 'administrator',
    account: ACCOUNT,
    password: secrets.passwordOf('administrator', ACCOUNT),
  },
  scope: { account: ACCOUNT },
})

const followerOf = ({ address }: RunningSidecar) =>
  runSidecar({
    config: configOf({
      callers: [...CALLERS, caller('gateway', GATEWAY)],
      http: httpBehindProxy({ connect: true }),
      directory: { timeout_ms: 60_000, hub: { addresses: [address], token_file: newFile(FOLLOWER) } },
    }),
    flags: { 'http.address': '127.0.0.1:0' },
  })
const follower = await followerOf(hub)
const second = await followerOf(follower)
const SIDECARS = { 'the hub': hub, 'a follower': follower, 'a follower of a follower': second }

let projects = 0
/** Makes a change, and returns what became of it. */
async function change(address: string, metadata: Readonly<Record<string, string>>) {
  const box = new BlackBox(address, directoryService)
  const name = `project ${++projects}`
  const outcome = await box.ask('createProject', { account: ACCOUNT, name }, { metadata }).then(
    () => 'made',
    (error: unknown) => refusalOf(error).reason,
  )
  box.close()
  const { records } = await hub
    .connect({ callerToken: CLERK })
    .directory.listAuditRecords({ account: ACCOUNT, newestFirst: true, pageSize: 10 })
  return { outcome, by: records.find(({ subject }) => subject === name)?.details?.by }
}

const restrict = (...ranges: string[]) => run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges })

describe.each(Object.entries(SIDECARS))('%s', (_who, sidecar) => {
  test.each([
    ['127.0.0.1', 'made'],
    ['127.0.0.9', 'made'],
    ['127.0.0.2', 'ADDRESS_NOT_ALLOWED'],
  ])('answers and records a change from %s: %s', async (from, outcome) => {
    await restrict('127.0.0.1', '127.0.0.9')
    const address = await relayFrom(from, sidecar)
    const id = newRequestId()
    const ids = { 'x-auth-token': iamToken, 'x-request-id': id }
    expect(await change(address, ids)).toEqual({
      outcome,
      by:
        outcome === 'made'
          ? expect.objectContaining({ protocol: 'grpc', address: from, request_id: id })
          : undefined,
    })
    await restrict()
  })

  test('lets an administrator read from an allowed address alone', async () => {
    await restrict('127.0.0.9')
    const outcomes: string[] = []
    for (const from of ['127.0.0.9', '127.0.0.2']) {
      const box = new BlackBox(await relayFrom(from, sidecar), directoryService)
      outcomes.push(
        await box.ask('listProjects', { account: ACCOUNT }, { metadata: { 'x-auth-token': iamToken } }).then(
          () => 'read',
          (error: unknown) => String(refusalOf(error).reason),
        ),
      )
    }
    expect(outcomes).toEqual(['read', 'ADDRESS_NOT_ALLOWED'])
    await restrict()
  })
})

describe.each([
  ['a follower', follower, '192.0.2.1'],
  ['a follower of a follower', second, '192.0.2.2'],
])('a login through %s', (_who, { sidecar }, network) => {
  const port = Number(sidecar.httpAddress?.split(':').at(-1))
  const login = async (from: string, userName: string) => {
    const { json, headers } = await askAt(port, {
      method: 'POST',
      path: '/portcullis.v1.AuthorizationService/Issue',
      headers: {
        ...{ 'x-portcullis-proxy-secret': PROXY_SECRET, 'x-forwarded-for': from },
        authorization: `Bearer ${GATEWAY}`,
      },
      body: { password: { userName, account: ACCOUNT, password: 'wrong' }, scope: { account: ACCOUNT } },
    })
    return { reason: json.details[0].debug.reason, id: headers['x-openstack-request-id'] }
  }

  test('is throttled by the address of its client, and not by that of the follower', async () => {
    const reasons: string[] = []
    for (const port of [50_001, 50_002, 50_003, 50_004])
      reasons.push((await login(`${network}0:${port}`, 'account')).reason)
    expect(reasons).toEqual(['LOGIN_FAILED', 'LOGIN_FAILED', 'LOGIN_FAILED', 'LOGIN_THROTTLED'])
    expect((await login(`${network}1`, 'account')).reason).toBe('LOGIN_FAILED')
  })

  test('is logged at the hub with its client, its protocol and its request', async () => {
    const { id } = await login(`${network}2`, 'alpha')
    const own = () =>
      hub.logLines.map((line) => JSON.parse(line)).filter(({ request_id: found }) => found === id)
    await eventually(() => own().some(({ msg }) => msg === 'a login failed'))
    const facts = { protocol: 'http', address: `${network}2`, source: `address ${network}2` }
    expect(own().find(({ msg }) => msg === 'a login failed')).toMatchObject({ ...facts, user_name: 'alpha' })
    for (const line of own()) expect(line.address ?? line.client_address).toBe(`${network}2`)
  })
})

test('a login through a follower is its caller’s, where the hub knows the caller', async () => {
  const box = new BlackBox(second.address, contractService)
  const password = { user_name: 'nothing', account: ACCOUNT, password: 'wrong' }
  const login = (callerToken?: string) =>
    box
      .ask('issue', { password, scope: { account: ACCOUNT } }, { ...(callerToken && { callerToken }) })
      .catch((error: unknown) => refusalOf(error).reason)
  const reasons: unknown[] = []
  for (const token of [undefined, undefined, undefined, undefined, PROGRAM]) reasons.push(await login(token))
  expect(reasons).toEqual([...Array(3).fill('LOGIN_FAILED'), 'LOGIN_THROTTLED', 'LOGIN_FAILED'])
})

test('a revocation through followers is recorded where its client made it', async () => {
  const { value, tokenId } = await hub.client.issue({
    password: { userName: 'account', account: ACCOUNT, password: secrets.passwordOf('account') },
    scope: { account: ACCOUNT },
  })
  const box = new BlackBox(await relayFrom('127.0.0.2', second), contractService)
  await box.ask('revoke', { value }, { callerToken: PROGRAM })
  const { records } = await hub
    .connect({ callerToken: CLERK })
    .directory.listAuditRecords({ newestFirst: true })
  expect(records.find(({ subjectId }) => subjectId === tokenId)?.details?.by).toMatchObject({
    address: '127.0.0.2',
  })
})

describe('a sidecar that forwards a call', () => {
  const claim = { address: '127.0.0.9', protocol: 'http', connection: 'x 1', vouched: true } as const
  const text = forwardedText(claim)
  const by = (token: string) => ({ 'x-portcullis-forwarder': `Bearer ${token}` })

  test.each<[claim: string, forwarded: string, more: Record<string, string>, outcome: string]>([
    ['is believed with the right to follow', text, by(FOLLOWER), 'made'],
    ['is believed with every right', text, by(CLERK), 'made'],
    ['is not without a token', text, {}, 'ADDRESS_NOT_ALLOWED'],
    ['is not with another right', text, by(PROGRAM), 'ADDRESS_NOT_ALLOWED'],
    [
      'is not with an unknown token',
      text,
      by('unknown-caller-token-0123456789abcdef'),
      'ADDRESS_NOT_ALLOWED',
    ],
    [
      'is believed where it has not verified the address',
      forwardedText({ ...claim, vouched: false }),
      by(FOLLOWER),
      'ADDRESS_NOT_ALLOWED',
    ],
    [
      'is believed of an address that is not allowed',
      forwardedText({ ...claim, address: '192.0.2.1' }),
      by(FOLLOWER),
      'ADDRESS_NOT_ALLOWED',
    ],
    [
      'may know no address',
      forwardedText({ ...claim, address: 'unknown' }),
      by(FOLLOWER),
      'ADDRESS_NOT_ALLOWED',
    ],
    ['must say where the call came from', '1', by(FOLLOWER), 'ADDRESS_NOT_ALLOWED'],
    ['must say an address', text.replace('127.0.0.9', 'localhost'), by(FOLLOWER), 'ADDRESS_NOT_ALLOWED'],
    ['must name a connection', text.replace('x+1', ''), by(FOLLOWER), 'ADDRESS_NOT_ALLOWED'],
    ['must name a protocol', text.replace('http', 'ftp'), by(FOLLOWER), 'ADDRESS_NOT_ALLOWED'],
  ])('%s', async (_claim, forwarded, more, outcome) => {
    // The client itself is at an allowed address, too.
    await restrict('127.0.0.1', '127.0.0.9')
    const metadata = { 'x-auth-token': iamToken, 'x-portcullis-forwarded': forwarded, ...more }
    expect(await change(hub.address, metadata)).toEqual({
      outcome,
      by:
        outcome === 'made' ? expect.objectContaining({ protocol: 'http', address: '127.0.0.9' }) : undefined,
    })
    await restrict()
  })

  test('is recorded in its place, where it is not believed', async () => {
    const metadata = { 'x-auth-token': iamToken, 'x-portcullis-forwarded': text }
    expect(await change(hub.address, metadata)).toEqual({
      outcome: 'made',
      by: expect.objectContaining({ protocol: 'grpc', address: '127.0.0.1' }),
    })
    expect(hub.logLines.join('')).toContain('where it came from is not believed')
  })

  test('is not the client of a follower, whatever that sends', async () => {
    await restrict('127.0.0.1', '127.0.0.9')
    for (const more of [{}, by(PROGRAM)]) {
      const metadata = { 'x-auth-token': iamToken, 'x-portcullis-forwarded': text, ...more }
      expect((await change(second.address, metadata)).outcome).toBe('ADDRESS_NOT_ALLOWED')
    }
    await restrict()
  })
})
