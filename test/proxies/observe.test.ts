/**
 * Observe mode: every request passes on each way that proxies ask, with the reason of its denial. Only a
 * sender who is really allowed has an identity. After its end, everything is as without it.
 */
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { askAt, type RequestHeaders } from '../support/identity/identity.ts'
import { command } from '../support/processes/command-line.ts'
import { ENVOY_TOKEN, iam, OTHER_TOKEN, peopleBehindEnvoy } from '../support/proxies/behind-envoy.ts'
import { EnvoyClient, type HeaderList } from '../support/proxies/ext-authz.ts'
import { PROXY_SECRET } from '../support/proxies/proxied.ts'
import { rowsOf } from '../support/proxies/proxy-rows.ts'
import { ACCOUNT, OTHER_ACCOUNT, type RunningSidecar } from '../support/sidecar/sidecar.ts'
import { linesIn } from '../support/signals/decision-log.ts'
import { eventuallyHolds, newFile, newFolder } from '../support/suite/resources.ts'

const HOUR_MS = 3_600_000
const START_MS = Math.floor(Date.now() / 1_000) * 1_000
const UNTIL = new Date(START_MS + HOUR_MS).toISOString().replace(/\.\d+/, '')
let nowMs = START_MS
const people = await peopleBehindEnvoy(() => nowMs)
const { account, restricted } = people
const ROWS = rowsOf(people)
const log = join(newFolder(), 'decisions.log')
const robot = { upstream: 'cloud', account: ACCOUNT, user_name: 'robot', password_file: newFile('password') }

const run = (proxies: object, more: object = {}) =>
  people.run({ 'http.address': '127.0.0.1:0', 'health.address': '127.0.0.1:0' }, { proxies, ...more })
const running = await run({ mode: 'observe' }, { decision_log: { file: { path: log } } })
/** One whose upstream does not answer, and whose profile cannot log in. */
const broken = await run(
  { mode: 'observe' },
  {
    upstreams: { cloud: { auth_url: 'http://127.0.0.1:9/identity/v3', verify: { profile: 'robot' } } },
    profiles: {
      robot,
      gateway: { account: OTHER_ACCOUNT, user_name: 'stranger', password_file: newFile('another password') },
    },
    callers: [
      { name: 'envoy', token_file: newFile(ENVOY_TOKEN), profiles: ['gateway', 'robot'] },
      { name: 'other', token_file: newFile(OTHER_TOKEN) },
    ],
  },
)
const upstreamToken: HeaderList = [iam('a-token-of-the-upstream')]

/** The outcome of a request at a proxy. */
interface Passage {
  readonly passes: boolean
  /** Why it would not pass; empty: it would. */
  readonly wouldDeny: string | undefined
  /** The headers about the sender that the application gets. */
  readonly identity: readonly string[]
  /** The replacement of the client's credential. */
  readonly credential: string | undefined
  /** The headers of the client that the application does not get. */
  readonly removed: readonly string[]
}

interface Wish {
  readonly context?: Readonly<Record<string, string>> | undefined
  readonly headers?: HeaderList | undefined
  readonly from?: string | undefined
  readonly callerToken?: string
}

const BALANCE = { api: 'balance' }
const WOULD_DENY = 'x-portcullis-would-deny'

function passageOf(
  passes: boolean,
  headers: Readonly<Record<string, string | undefined>>,
  removed: readonly string[],
): Passage {
  const identity = Object.keys(headers).filter(
    (name) => name.startsWith('x-portcullis-') && name !== WOULD_DENY && headers[name] !== '',
  )
  // Set or removed, and never neither of them.
  if (passes) expect([headers[WOULD_DENY] !== undefined, removed.includes(WOULD_DENY)]).toContain(true)
  const wouldDeny = headers[WOULD_DENY] ?? ''
  return { passes, wouldDeny, identity, credential: headers['x-auth-token'], removed }
}

const portOf = ({ sidecar }: RunningSidecar) => Number(sidecar.httpAddress?.split(':').at(-1))

function fromList(list: HeaderList): RequestHeaders {
  const headers: Record<string, string[]> = {}
  for (const [name, value] of list) headers[name] = [...(headers[name] ?? []), value]
  return headers
}

async function overHttp(at: RunningSidecar, path: string, headers: HeaderList): Promise<Passage> {
  const answer = await askAt(portOf(at), {
    path,
    headers: { host: 'api.example', 'x-portcullis-proxy-secret': PROXY_SECRET, ...fromList(headers) },
  })
  const removed = answer.headers['x-envoy-auth-headers-to-remove']?.split(',') ?? []
  return passageOf(answer.status === 200, answer.headers, removed)
}

/** The protocols of proxies. `asks`: whether a request can be asked about in the words of that protocol. */
const PROTOCOLS: readonly {
  readonly name: 'authorize' | 'ext_authz' | 'ext_authz-http'
  readonly asks: (wish: Wish) => boolean
  readonly ask: (wish: Wish, at?: RunningSidecar) => Promise<Passage>
}[] = [
  {
    name: 'authorize',
    asks: ({ context = BALANCE, from, headers = [] }) =>
      Object.keys(context).join() === 'api' &&
      from === undefined &&
      headers.every(([name]) => name !== 'x-forwarded-for'),
    ask: ({ context = BALANCE, headers = [] }, at = running) =>
      overHttp(at, `/authorize/${context.api}`, [['x-forwarded-for', '203.0.113.5'], ...headers]),
  },
  {
    name: 'ext_authz-http',
    asks: ({ from }) => from === undefined,
    ask: ({ context = BALANCE, headers = [], callerToken }, at = running) => {
      const pairs = Object.entries(context).map(([name, value]) => `${name}=${value}`)
      const caller =
        callerToken === undefined ? [] : [['proxy-authorization', `Bearer ${callerToken}`] as const]
      return overHttp(at, `/ext-authz/${pairs.join(',')}/`, [...headers, ...caller])
    },
  },
  {
    name: 'ext_authz',
    asks: () => true,
    ask: async ({ context = BALANCE, headers = [], from, callerToken }, at = running) => {
      const verdict = await new EnvoyClient(at.address).ask(
        { context, headers, ...(from !== undefined && { from }) },
        callerToken === undefined ? {} : { callerToken },
      )
      if (verdict.allowed && verdict.headers[WOULD_DENY] !== undefined)
        expect(verdict.metadata).toMatchObject({
          allowed: false,
          observed: true,
          reason: verdict.headers[WOULD_DENY],
        })
      for (const fact of ['account', 'user_id', 'token_id', 'verified'])
        if (verdict.headers[WOULD_DENY] !== undefined) expect(verdict.metadata[fact]).toBeUndefined()
      return passageOf(verdict.allowed, verdict.headers, verdict.removed)
    },
  },
]

beforeEach(() => {
  nowMs = START_MS
})

const denied = (reason: string) => ({ passes: true, wouldDeny: reason, identity: [], credential: undefined })

describe.each(PROTOCOLS)('$name', ({ name, asks, ask }) => {
  test.each(ROWS.filter(asks))('$what passes: $reason', async ({ reason, status, ...wish }) => {
    const passage = await ask(wish)
    if (status !== undefined) return expect(passage).toMatchObject(denied(reason))
    expect(passage).toMatchObject({ passes: true, wouldDeny: '', credential: undefined })
    expect(passage.identity).toContain('x-portcullis-account')
  })

  const undecided: readonly { readonly what: string; readonly wish: Wish; readonly reason: string }[] = [
    {
      what: 'an upstream that does not answer',
      wish: { headers: upstreamToken },
      reason: 'UPSTREAM_UNAVAILABLE',
    },
    {
      what: 'a misspelt account',
      wish: { context: { ...BALANCE, acount: '1' }, headers: [iam(account)] },
      reason: 'INVALID_ARGUMENT',
    },
  ]
  test.each(undecided.filter(({ wish }) => asks(wish)))(
    '$what lets the request pass, and it is counted',
    async ({ wish, reason }) => {
      const before = countOf(name, reason)
      expect(await ask(wish, broken)).toMatchObject(denied(reason))
      expect(countOf(name, reason)).toBe(before + 1)
    },
  )

  test.each(['X-Portcullis-Would-Deny', 'x_portcullis_would_deny', 'X-Portcullis-Account'])(
    'a client that sends %s itself gains nothing',
    async (forged) => {
      const passage = await ask({ headers: [[forged.toLowerCase(), 'NONE']] })
      // nginx takes out nothing that it does not name, so such a request does not pass.
      if (name === 'authorize') return expect(passage.passes).toBe(false)
      expect(passage).toMatchObject(denied('CREDENTIAL_MISSING'))
      if (forged !== 'X-Portcullis-Would-Deny') expect(passage.removed).toContain(forged.toLowerCase())
    },
  )

  test('after its end, requests are denied, and no clock and no reload brings it back', async () => {
    const ending = await run({ mode: 'observe', observe_until: UNTIL })
    expect(await ask({}, ending)).toMatchObject(denied('CREDENTIAL_MISSING'))
    nowMs = START_MS + HOUR_MS - 1
    ending.sidecar.reload()
    expect((await ask({}, ending)).passes).toBe(true)
    nowMs = START_MS + HOUR_MS
    expect((await ask({}, ending)).passes).toBe(false)
    expect(ending.logLines.filter((line) => line.includes('observe mode has ended'))).toHaveLength(1)
    ending.sidecar.reload()
    nowMs = START_MS
    expect((await ask({}, ending)).passes).toBe(false)
    expect((await ask({ headers: [iam(account)] }, ending)).passes).toBe(true)
  })
})

/** How many requests have passed there that would have been denied. */
function countOf(protocol: string, reason: string): number {
  const metric = broken.sidecar.metrics().find(({ name }) => name === 'portcullis_would_deny_total')
  const samples = metric !== undefined && 'samples' in metric ? metric.samples : []
  const sample = samples.find(({ labels }) => labels.protocol === protocol && labels.reason === reason)
  return Number(sample && 'value' in sample ? sample.value : 0)
}

const envoys = PROTOCOLS.filter(({ name }) => name !== 'authorize')

test.each(envoys)(
  'a client that has a proxy remove what is said of it does not pass: $name',
  async ({ ask }) => {
    const headers: HeaderList = [iam(account), ['connection', `close, ${WOULD_DENY}`]]
    expect((await ask({ headers })).passes).toBe(false)
  },
)

describe('a credential of a profile', () => {
  const context = { ...BALANCE, account: ACCOUNT, credential_profile: 'gateway' }

  test.each(envoys)('goes with no request that would be denied: $name', async ({ ask }) => {
    for (const headers of [[], [iam(restricted)]]) {
      const passage = await ask({ context, headers, callerToken: ENVOY_TOKEN })
      expect(passage).toMatchObject({ passes: true, identity: [], credential: undefined })
      // The client's own stays: as without a guard, the application sees what the client sent.
      expect(passage.removed).not.toContain('x-auth-token')
    }
  })

  test.each(envoys)('that cannot be had leaves the client its own: $name', async ({ ask }) => {
    for (const [profile, callerToken, reason] of [
      ['gateway', ENVOY_TOKEN, 'LOGIN_FAILED'],
      ['gateway', OTHER_TOKEN, 'PROFILE_NOT_ALLOWED'],
      ['robot', ENVOY_TOKEN, 'UPSTREAM_UNAVAILABLE'],
    ] as const) {
      const wish = {
        context: { ...context, credential_profile: profile },
        headers: [iam(account)],
        callerToken,
      }
      const passage = await ask(wish, broken)
      expect(passage).toMatchObject(denied(reason))
      expect(passage.removed).not.toContain('x-auth-token')
    }
  })

  test.each(envoys)('replaces that of a client who is allowed: $name', async ({ ask }) => {
    const passage = await ask({ context, headers: [iam(account)], callerToken: ENVOY_TOKEN })
    expect(passage).toMatchObject({ passes: true, wouldDeny: '', credential: expect.stringMatching(/./) })
    expect(passage.credential).not.toBe(account)
  })
})

describe('routes', async () => {
  const routed = await run({ mode: 'observe' }, { routes: [{ path: '/billing/', api: 'balance' }] })
  const described = (path: string): HeaderList => [
    ['x-original-method', 'GET'],
    ['x-original-uri', path],
    ['x-forwarded-host', 'api.example'],
  ]

  test.each([
    ['/nowhere', 'NO_ROUTE'],
    ['/billing/../x', 'NOT_CANONICAL'],
    ['/billing/1', 'CREDENTIAL_MISSING'],
  ])('%s passes: %s', async (path, reason) => {
    expect(await overHttp(routed, '/authorize', described(path))).toMatchObject(denied(reason))
    const { allowed, headers } = await new EnvoyClient(routed.address).ask({ path })
    expect([allowed, headers[WOULD_DENY]]).toEqual([true, reason])
  })

  test('a request that the proxy describes wrongly passes', async () => {
    expect(await overHttp(routed, '/authorize', [])).toMatchObject(denied('INVALID_ARGUMENT'))
  })
})

test('only a proven proxy is answered, in this mode too', async () => {
  for (const path of ['/authorize/balance', '/ext-authz/api=balance/'])
    expect((await askAt(portOf(running), { path, headers: { host: 'api.example' } })).status).toBe(403)
})

test('the decision log marks requests that passed, and an allowed one has no such member', async () => {
  const { ask } = PROTOCOLS[2] as (typeof PROTOCOLS)[number]
  await ask({ headers: [iam(account)] })
  await ask({ headers: [] })
  await eventuallyHolds(() => {
    const lines = linesIn(log)
    const isProxied = ({ protocol }: { protocol: string }) => /^(ext_|authorize)/.test(protocol)
    const asked = lines.filter(isProxied)
    expect(new Set(asked.map(({ allowed, observed }) => `${allowed} ${observed}`))).toEqual(
      new Set(['true undefined', 'false true']),
    )
  })
  const explained = await command(['decisions', log, '--data', newFolder(), '--denied', '--explain'])
  expect(explained.stdout).toMatch(/^passed +all the same, in observe mode$/m)
  const replayed = await command(['replay', log])
  expect(replayed.stdout).toMatch(/^\d+ decisions: none would change\n\d+ denied, and passed all the same/)
  // A question of another protocol is answered as ever.
  await running.client.check({ api: 'balance', credentials: [] })
  await eventuallyHolds(() => {
    const last = linesIn(log).find(({ protocol }) => protocol === 'grpc')
    expect(last).toMatchObject({ allowed: false, reason: 'CREDENTIAL_MISSING' })
    expect(last).not.toHaveProperty('observed')
  })
})
