/** The judge of histories, on histories by hand: what it must find, and what it must not take for a fault. */
import { expect, test } from 'vitest'
import { SCENE } from '../support/histories/clients.ts'
import type { HostName } from '../support/histories/stage.ts'
import { type Call, type Question, readOf, unexplained } from './explained.ts'
import type { Asked } from './operations.ts'

const STALENESS_MS = 400

/** The client and its question, the times of call and return in milliseconds, and the answer. */
type Row = readonly [host: HostName, call: number, end: number, question: Question, answer: string]
type Verdict = 'ok' | 'violation'

function asks(what: Question['what'], asked: Partial<Asked> = {}): Question {
  return { what, asked: { account: 'an account', name: 'robot', ...asked } }
}

const login = { token: { value: 'token 1' }, password: 'password 1' }
const issue = asks('issue', login)
const issued: Row = ['a', 0, 10, issue, 'OK']
const check = asks('check', { token: login.token })
const checkStatic = asks('check', { token: { value: 'key' } })
const revoke = asks('revoke', { token: login.token })
const disable = asks('updateUser', { enabled: false })
const enable = asks('updateUser', { enabled: true })
const remove = asks('deleteUser')
const restrict = asks('restrict', { restricted: true })
const read = asks('readUser')

const HISTORIES: readonly (readonly [what: string, verdict: Verdict, rows: readonly Row[]])[] = [
  ['nothing but what was to be expected', 'ok', [issued, ['b', 20, 30, check, 'ALLOWED']]],
  [
    'another host allows within the bound',
    'ok',
    [issued, ['a', 100, 110, revoke, 'OK'], ['b', 509, 520, check, 'ALLOWED']],
  ],
  [
    'another host allows beyond the bound',
    'violation',
    [issued, ['a', 100, 110, revoke, 'OK'], ['b', 511, 520, check, 'ALLOWED']],
  ],
  [
    'the same host allows while it revokes',
    'ok',
    [issued, ['a', 100, 200, revoke, 'OK'], ['a', 110, 210, check, 'ALLOWED']],
  ],
  [
    'the same host allows what it has revoked',
    'violation',
    [issued, ['a', 100, 110, revoke, 'OK'], ['a', 111, 120, check, 'ALLOWED']],
  ],
  [
    'a host allows what it has denied',
    'violation',
    [
      ...[issued, ['a', 100, 110, revoke, 'OK'] as const],
      ...[['b', 120, 130, check, 'CREDENTIAL_REVOKED'] as const, ['b', 131, 140, check, 'ALLOWED'] as const],
    ],
  ],
  [
    'a change without an answer takes effect long after',
    'ok',
    [
      ...[issued, ['a', 100, 110, revoke, 'UNKNOWN'] as const],
      ...[
        ['a', 900, 910, check, 'ALLOWED'] as const,
        ['a', 2_000, 2_010, check, 'CREDENTIAL_REVOKED'] as const,
      ],
    ],
  ],
  [
    'a change without an answer takes effect, and then does not',
    'violation',
    [
      ...[issued, ['a', 100, 110, revoke, 'UNKNOWN'] as const],
      ...[
        ['a', 900, 910, check, 'CREDENTIAL_REVOKED'] as const,
        ['b', 2_000, 2_010, check, 'ALLOWED'] as const,
      ],
    ],
  ],
  [
    'a token is denied that was not ended',
    'violation',
    [issued, ['b', 900, 910, check, 'CREDENTIAL_REVOKED']],
  ],
  [
    'a deleted user logs in',
    'violation',
    [
      ['b', 0, 10, remove, 'OK'],
      ['a', 11, 20, issue, 'OK'],
    ],
  ],
  [
    'a user logs in while it is deleted',
    'ok',
    [['b', 0, 15, remove, 'OK'], issued, ['a', 20, 30, check, 'CREDENTIAL_REVOKED']],
  ],
  [
    'an earlier password logs in',
    'violation',
    [
      ['b', 0, 10, asks('replacePassword', { password: 'password 2' }), 'OK'],
      ['a', 11, 20, issue, 'OK'],
    ],
  ],
  [
    'an acknowledged change is lost',
    'violation',
    [
      ['a', 0, 10, disable, 'OK'],
      ['b', 20, 30, read, readOf({ enabled: true, permitted: true })],
    ],
  ],
  [
    'two clients delete the same user',
    'violation',
    [
      ['a', 0, 10, remove, 'OK'],
      ['b', 5, 15, remove, 'OK'],
    ],
  ],
  [
    'an IAM token comes back with its user',
    'violation',
    [
      ...[issued, ['a', 100, 110, disable, 'OK'] as const, ['a', 200, 210, enable, 'OK'] as const],
      ['a', 300, 310, check, 'ALLOWED'],
    ],
  ],
  [
    'a static token comes back with its user',
    'ok',
    [
      ['a', 0, 10, asks('updateOwner', { enabled: false }), 'OK'],
      ['a', 20, 30, checkStatic, 'CREDENTIAL_REVOKED'],
      ['a', 100, 110, asks('updateOwner', { enabled: true }), 'OK'],
      ['a', 200, 210, checkStatic, 'ALLOWED'],
    ],
  ],
  [
    'a token outlives its permission',
    'violation',
    [
      ...[issued, ['b', 100, 110, asks('updateUser', { ofAccount: false }), 'OK'] as const],
      ['b', 120, 130, check, 'ALLOWED'],
    ],
  ],
  [
    'a token for the project keeps its access by the other permission',
    'ok',
    [
      ['a', 0, 10, asks('issue', { ...login, project: 'alpha' }), 'OK'],
      ['a', 100, 110, asks('updateUser', { ofAccount: false, ofProject: 'alpha' }), 'OK'],
      ['a', 900, 910, check, 'ALLOWED'],
    ],
  ],
  [
    'a token for the project outlives the project',
    'violation',
    [
      ['a', 0, 10, asks('issue', { ...login, project: 'alpha' }), 'OK'],
      ['a', 100, 110, asks('deleteProject', { name: 'alpha' }), 'OK'],
      ['a', 120, 130, asks('createProject', { name: 'alpha' }), 'OK'],
      ['a', 140, 150, check, 'ALLOWED'],
    ],
  ],
  [
    'addresses are not restricted',
    'violation',
    [issued, ['a', 100, 110, restrict, 'OK'], ['a', 120, 130, check, 'ALLOWED']],
  ],
]

test.each(HISTORIES)('%s: %s', (_what, verdict, rows) => {
  const calls = rows.map(
    ([host, callMs, returnMs, question, answer], client): Call => ({
      ...{ ...question, client, host, process: host, answer, callMs, returnMs },
    }),
  )
  expect(unexplained(SCENE, calls, STALENESS_MS).length > 0).toBe(verdict === 'violation')
})
