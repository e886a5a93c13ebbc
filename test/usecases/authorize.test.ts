/**
 * Who has which right, whatever operation needs it. `test/administration/authorization.test.ts` asks over the
 * wire.
 */
import { describe, expect, test } from 'vitest'
import type { UserSession } from '../../sidecar/authority/control-panel/panel-sessions.ts'
import { CLOCK_SKEW_MS } from '../../sidecar/base/time-limit.ts'
import type { UserRecord } from '../../sidecar/directory/directory.ts'
import {
  authorize,
  authorizeAsOwner,
  expectConfirmed,
  isAccountAdministrator,
  type Need,
} from '../../sidecar/usecases/administration/authorize.ts'
import type { CallerRights } from '../../sidecar/usecases/callers.ts'
import type { Requester } from '../../sidecar/usecases/requester.ts'
import { callerNamed, outcomeOf } from '../support/sidecar/services.ts'

const [ACCOUNT, ELSEWHERE] = ['4711', '4712']
const NEEDS: readonly Need[] = [
  ...(['operator', 'account_administrator', 'inviter', 'self'] as const),
  'self_or_account_administrator',
]

const from = { protocol: 'grpc', address: '192.0.2.7' } as const

function caller(name: string, rights: Partial<CallerRights> = {}): Requester {
  const identifiedBy = { type: 'certificate', names: [] } as const
  return { type: 'operator', caller: { ...callerNamed(name, rights), identifiedBy }, from }
}

const PIA: UserRecord = {
  ...{ account: ACCOUNT, name: 'pia', id: 'id', type: 'control_panel_user', enabled: true, generation: 1 },
  ...{ permissions: [], owner: false, roles: ['member'], validator: false, createdAtMs: 0 },
}

/** A user who has logged in to the control panel, or has a token. */
function user(change: Partial<UserRecord> = {}, logsIn = false, confirmedAtMs = 0): Requester {
  const call = { clientAddress: undefined, from, ownersFromAnywhere: false }
  const record = { ...PIA, ...change }
  const times = { createdAtMs: 0, usedAtMs: 0, endsAtMs: 0, confirmedAtMs }
  const session: UserSession = {
    ...{ holder: 'user', user: record, id: 's', hash: Buffer.alloc(32), addresses: [], way: 'password' },
    ...{ address: '', client: '', ...times },
  }
  if (logsIn) return { type: 'user', user: record, session, ...call }
  const scope = { account: record.account }
  const subject = { id: record.id, name: record.name, type: record.type }
  const token = { kind: 'k', scope, subject, tokenId: 't', issuedAtMs: 0, expiresAtMs: 1 }
  return { type: 'user', user: record, token, ...call }
}

const REQUESTERS = {
  root: caller('root', { everything: true }),
  reader: caller('reader', { read: true }),
  clerk: caller('clerk', { administer: new Set([ACCOUNT]) }),
  'clerk of elsewhere': caller('clerk', { administer: new Set([ELSEWHERE]) }),
  'caller who revokes and follows': caller('revoker', { revoke: true, follow: true }),
  owner: user({ name: 'olga', owner: true }),
  'owner, logged in': user({ name: 'olga', owner: true }, true),
  'iam.admin': user({ name: 'adam', roles: ['member', 'iam.admin'] }),
  'iam.admin, logged in': user({ name: 'adam', roles: ['member', 'iam.admin'] }, true),
  'machine with iam.admin': user({ name: 'robot', type: 'service_user', roles: ['iam.admin'] }),
  pia: user(),
  'pia, logged in': user({}, true),
  'somebody else': user({ name: 'paul' }, true),
  'machine of the same name': user({ type: 'service_user' }),
  'pia of elsewhere': user({ account: ELSEWHERE }, true),
  'owner of elsewhere': user({ account: ELSEWHERE, name: 'olga', owner: true }, true),
}
const NAMES = Object.keys(REQUESTERS) as (keyof typeof REQUESTERS)[]

const ADMINISTRATORS = ['owner', 'owner, logged in', 'iam.admin', 'iam.admin, logged in'] as const

/** Who may change something of pia. */
const ENTITLED: Readonly<Record<Need, readonly (keyof typeof REQUESTERS)[]>> = {
  operator: ['root'],
  account_administrator: ['root', 'clerk', ...ADMINISTRATORS, 'machine with iam.admin'],
  inviter: ['root', 'owner, logged in', 'iam.admin, logged in'],
  self: ['root', 'pia', 'pia, logged in'],
  self_or_account_administrator: [
    ...(['root', 'clerk', 'pia', 'pia, logged in'] as const),
    ...ADMINISTRATORS,
    'machine with iam.admin',
  ],
}

const WHO: Readonly<Record<Need, string>> = {
  operator: 'an operator',
  account_administrator: 'the account owner or a user with the role iam.admin',
  inviter: 'the account owner or a user with the role iam.admin, logged in to the control panel,',
  self: 'the control panel user whose token it is',
  self_or_account_administrator:
    'the control panel user themselves, the account owner or a user with the role iam.admin',
}

const ABOUT_PIA = { account: ACCOUNT, controlPanelUser: 'pia' }
const EVERYTHING = { account: undefined }

const refusal = (name: keyof typeof REQUESTERS, need: Need, right: string) => {
  const requester = REQUESTERS[name]
  return requester.type === 'user'
    ? `NOT_ADMINISTRATOR: only ${WHO[need]} may do this`
    : `CALLER_RIGHT_MISSING: caller \`${requester.caller.name}\` may not do this in the directory: it needs the right \`${right}\``
}
const asked = (...[name, ...others]: [keyof typeof REQUESTERS, Need, typeof EVERYTHING | object, boolean]) =>
  outcomeOf(() => authorize(REQUESTERS[name], ...(others as [Need, typeof EVERYTHING, boolean])))

describe.each(NEEDS)('of those who ask for what is for: %s,', (need) => {
  const forAdministrators = /account_administrator/.test(need)

  test.each(NAMES)('%s', async (name) => {
    const may = ENTITLED[need].includes(name)
    const write = forAdministrators ? 'administer' : 'everything'
    expect(await asked(name, need, ABOUT_PIA, false)).toBe(may ? undefined : refusal(name, need, write))
    const reads = may || name === 'reader'
    expect(await asked(name, need, ABOUT_PIA, true)).toBe(reads ? undefined : refusal(name, need, 'read'))
  })

  test.each(NAMES)('%s, who asks about every account', async (name) => {
    const may = name === 'root'
    expect(await asked(name, need, EVERYTHING, false)).toBe(
      may ? undefined : refusal(name, need, 'everything'),
    )
    const reads = may || name === 'reader'
    expect(await asked(name, need, EVERYTHING, true)).toBe(reads ? undefined : refusal(name, need, 'read'))
  })
})

test('what is about no control panel user is nobody’s own', async () => {
  const account = { account: ACCOUNT }
  expect(await asked('pia', 'self', account, false)).toBe(refusal('pia', 'self', ''))
})

test.each<[name: keyof typeof REQUESTERS, may: boolean]>([
  ['clerk', true],
  ['owner', true],
  ['iam.admin', false],
  ['machine with iam.admin', false],
  ['pia', false],
])('what is for owners, asked for by %s', async (name, may) => {
  expect(await outcomeOf(() => authorizeAsOwner(REQUESTERS[name]))).toBe(
    may ? undefined : 'NOT_OWNER: only an owner of the account may do this',
  )
})

const NOW_MS = 1_800_000_000_000

test.each<[claim: string, requester: Requester, ends: boolean]>([
  ['nine minutes ago', user({}, true, NOW_MS - 599_999), false],
  ['ten minutes ago', user({}, true, NOW_MS - 600_000), true],
  ['on a host that is ahead by a minute', user({}, true, NOW_MS + CLOCK_SKEW_MS), false],
  ['by a clock that was ahead by more', user({}, true, NOW_MS + CLOCK_SKEW_MS + 1), true],
  ['never: it has none', user(), false],
])('a session that was confirmed %s', async (_claim, requester, ends) => {
  expect(await outcomeOf(() => expectConfirmed(requester, NOW_MS))).toBe(
    ends
      ? 'REAUTHENTICATION_REQUIRED: confirm your password, passkey or caller token: the last confirmation is more than ten minutes old'
      : undefined,
  )
})

test('an administrator is one of their account alone', () => {
  const owner = { ...PIA, owner: true }
  expect(isAccountAdministrator(owner, ACCOUNT)).toBe(true)
  expect(isAccountAdministrator(owner, ELSEWHERE)).toBe(false)
  expect(isAccountAdministrator(owner, undefined)).toBe(false)
  expect(isAccountAdministrator(PIA, ACCOUNT)).toBe(false)
})
