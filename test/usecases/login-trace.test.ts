/** What the log says of logins: who failed, as far as they are somebody, and which token was issued. */
import { expect, test } from 'vitest'
import { CallError, type CallErrorReason, callError } from '../../sidecar/base/call-error.ts'
import {
  type LoginTracing,
  type TracedLogin,
  traceFailure,
  traceIssued,
  traceRevoked,
} from '../../sidecar/usecases/login-trace.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { openPeople } from '../support/sidecar/services.ts'
import { newTrace } from '../support/signals/traced-lines.ts'

const ACCOUNT = '4711'
const { administration, userNamed, run } = await openPeople(ACCOUNT)

const FROM = { protocol: 'grpc', address: '192.0.2.7' } as const
/** What counts for a login of theirs, and is the same in each. */
const BY = { ...FROM, source: 'address 192.0.2.7', caller: 'clerk', profile: 'job' }
const LOGIN: TracedLogin = {
  ...{ from: FROM, source: BY.source, caller: BY.caller, profile: BY.profile, requestId: 'r-1' },
  user: { account: ACCOUNT, userName: 'robot' },
}
const errorOf = (reason: CallErrorReason, cause?: unknown) => new CallError(reason, 'a problem', { cause })
const WRONG = errorOf('LOGIN_FAILED')
/** What the identity endpoint tells its clients of any of them. */
const hidden = (cause: unknown) => callError('LOGIN_REFUSED', {}, { cause })

/** The lines of logins that failed. */
async function failed(error: unknown, change: Partial<TracedLogin> = {}, given: Partial<LoginTracing> = {}) {
  const { trace, written } = newTrace()
  traceFailure({ trace, administration, ...given }, { ...LOGIN, ...change }, error)
  // The directory has been asked.
  await run(TESTER, 'getServiceUser', { account: ACCOUNT, name: 'robot' })
  const lines = await written()
  trace.close()
  return lines
}

/** A directory that answers so when it is asked about a user. */
const answering = (answer: () => Promise<never>) => ({
  administration: { users: { get: answer } } as unknown as LoginTracing['administration'],
})

const line = (reason: CallErrorReason, details: object, message = 'a login failed') => [
  { level: 'warn', message, reason, ...BY, request_id: 'r-1', ...details },
]

test('a login that failed names a user who exists', async () => {
  const { id } = await userNamed('robot')
  expect(await failed(WRONG)).toEqual(
    line('LOGIN_FAILED', { user: id, user_name: 'robot', account: ACCOUNT }),
  )
  const owner = await userNamed('owner')
  const ofPanel = { user: { account: ACCOUNT, userName: 'owner' }, userType: 'control_panel_user' } as const
  expect(await failed(WRONG, ofPanel)).toEqual(
    line('LOGIN_FAILED', { user: owner.id, user_name: 'owner', account: ACCOUNT }),
  )
})

test.each([
  ['of the account', { account: ACCOUNT, userName: 'a password' }],
  ['of an account that exists', { account: 'a password', userName: 'robot' }],
  ['of this type', { account: ACCOUNT, userName: 'owner' }],
])('no name of somebody who is no user %s is in the log', async (_what, user) => {
  expect(await failed(WRONG, { user })).toEqual(line('LOGIN_FAILED', { user: 'unknown' }))
})

test('a login that names nobody has no user in the log', async () => {
  expect(await failed(errorOf('CALLER_TOKEN_MISSING'), { user: undefined })).toEqual(
    line('CALLER_TOKEN_MISSING', {}),
  )
})

test('nobody is called unknown by a directory that does not answer', async () => {
  for (const error of [errorOf('DIRECTORY_UNAVAILABLE'), new Error('a defect')])
    expect(
      await failed(
        errorOf('LOGIN_THROTTLED'),
        {},
        answering(() => Promise.reject(error)),
      ),
    ).toEqual(line('LOGIN_THROTTLED', {}))
})

test.each<[userType: TracedLogin['userType'], message: string]>([
  [
    undefined,
    'a login with the right password was refused; the identity endpoint shows the client only that it failed',
  ],
  ['control_panel_user', 'a login to the control panel proved who the user is, and was refused'],
])('a right password that is not enough is told apart, for a %s', async (userType, message) => {
  const login = { user: undefined, ...(userType && { userType }) }
  for (const reason of ['ADDRESS_NOT_ALLOWED', 'PERMISSION_MISSING'] as const)
    for (const error of [errorOf(reason), hidden(errorOf(reason))])
      expect(await failed(error, login)).toEqual(line(reason, {}, message))
  for (const error of [WRONG, hidden(WRONG)])
    expect(await failed(error, login)).toEqual(line('LOGIN_FAILED', {}))
})

test('what says nothing of who logs in is no login that failed', async () => {
  for (const error of [errorOf('DIRECTORY_UNAVAILABLE'), new Error('a defect'), undefined])
    expect(await failed(error)).toEqual([])
})

const issued = { tokenId: 'token-1', kind: 'a_kind', scope: { account: ACCOUNT, project: 'alpha' } }

test('a token that was issued has a line, ten a minute of each user and source', async () => {
  const { trace, written } = newTrace(() => 0)
  const by = { ...BY, account: ACCOUNT, user_name: 'robot' }
  const details = { token_id: 'token-1', kind: 'a_kind', project: 'alpha', request_id: 'r-1' }
  for (let count = 0; count < 12; count++) traceIssued({ trace }, LOGIN, issued)
  const message = 'a token was issued'
  expect(await written()).toEqual(Array(10).fill({ level: 'info', message, ...by, ...details }))
  traceIssued({ trace }, { ...LOGIN, user: undefined }, issued)
  expect(await written()).toEqual([{ level: 'info', message, ...by, ...details, user_name: undefined }])
  trace.close()
  expect(await written()).toEqual([
    { level: 'info', message: `${message} (repeated)`, ...by, more: 2, seconds: 0 },
  ])
})

test('a token that was revoked has a line, ten a minute of each source', async () => {
  const { trace, written } = newTrace(() => 0)
  for (let count = 0; count < 12; count++) traceRevoked({ trace }, FROM, 'r-1')
  const message = 'a token was revoked'
  expect(await written()).toEqual(Array(10).fill({ level: 'info', message, ...FROM, request_id: 'r-1' }))
  trace.close()
  expect(await written()).toEqual([
    { level: 'info', message: `${message} (repeated)`, ...FROM, more: 2, seconds: 0 },
  ])
})
