/** The judge of histories, on histories by hand: what it must find, and what it must not take for a fault. */
import { describe, expect, test } from 'vitest'
import type { HostName, Operation, Question } from '../../support/histories/history.ts'
import { judge, obtainJudge, type Verdict } from '../../support/histories/judge.ts'

const STALENESS_MS = 400

/** A question to a host, from its call to its return in milliseconds, and the answer. */
type Row = readonly [host: HostName, call: number, end: number, question: Question, answer: string]

const login: Row = ['a', 0, 10, { what: 'issue', token: 1, password: 1, scope: 'account' }, 'OK']
const check: Question = { what: 'check', token: 1 }
const checkStatic: Question = { what: 'check', token: 0 }
const revoke: Question = { what: 'revoke', token: 1 }
const disable: Question = { what: 'updateUser', enabled: false }
const enable: Question = { what: 'updateUser', enabled: true }
const remove: Question = { what: 'deleteUser' }
const restrict: Question = { what: 'restrict', restricted: true }
const read: Question = { what: 'readUser', of_account: true, administers: false }

const HISTORIES: readonly (readonly [what: string, verdict: Verdict['verdict'], rows: readonly Row[]])[] = [
  ['nothing but what was to be expected', 'ok', [login, ['b', 20, 30, check, 'ALLOWED']]],
  [
    'another host allows within the bound',
    'ok',
    [login, ['a', 100, 110, revoke, 'OK'], ['b', 509, 520, check, 'ALLOWED']],
  ],
  [
    'another host allows beyond the bound',
    'violation',
    [login, ['a', 100, 110, revoke, 'OK'], ['b', 511, 520, check, 'ALLOWED']],
  ],
  [
    'the same host allows while it revokes',
    'ok',
    [login, ['a', 100, 200, revoke, 'OK'], ['a', 110, 210, check, 'ALLOWED']],
  ],
  [
    'the same host allows what it has revoked',
    'violation',
    [login, ['a', 100, 110, revoke, 'OK'], ['a', 111, 120, check, 'ALLOWED']],
  ],
  [
    'a host allows what it has denied',
    'violation',
    [
      ...[login, ['a', 100, 110, revoke, 'OK'] as const],
      ...[['b', 120, 130, check, 'CREDENTIAL_REVOKED'] as const, ['b', 131, 140, check, 'ALLOWED'] as const],
    ],
  ],
  [
    'a change without an answer takes effect long after',
    'ok',
    [
      ...[login, ['a', 100, 110, revoke, 'UNKNOWN'] as const],
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
      ...[login, ['a', 100, 110, revoke, 'UNKNOWN'] as const],
      ...[
        ['a', 900, 910, check, 'CREDENTIAL_REVOKED'] as const,
        ['b', 2_000, 2_010, check, 'ALLOWED'] as const,
      ],
    ],
  ],
  ['an active token is denied', 'violation', [login, ['b', 900, 910, check, 'CREDENTIAL_REVOKED']]],
  [
    'a deleted user logs in',
    'violation',
    [
      ['b', 0, 10, remove, 'OK'],
      ['a', 11, 20, { what: 'issue', token: 1, password: 1, scope: 'account' }, 'OK'],
    ],
  ],
  [
    'a user logs in while it is deleted',
    'ok',
    [['b', 0, 15, remove, 'OK'], login, ['a', 20, 30, check, 'CREDENTIAL_REVOKED']],
  ],
  [
    'an earlier password logs in',
    'violation',
    [
      ['b', 0, 10, { what: 'replacePassword', password: 2 }, 'OK'],
      ['a', 11, 20, { what: 'issue', token: 1, password: 1, scope: 'account' }, 'OK'],
    ],
  ],
  [
    'an acknowledged change is lost',
    'violation',
    [
      ['a', 0, 10, disable, 'OK'],
      ['b', 20, 30, { ...read, enabled: true }, 'OK'],
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
      ...[login, ['a', 100, 110, disable, 'OK'] as const, ['a', 200, 210, enable, 'OK'] as const],
      ['a', 300, 310, check, 'ALLOWED'],
    ],
  ],
  [
    'a static token comes back with its user',
    'ok',
    [
      ['a', 0, 10, { what: 'updateOwner', enabled: false }, 'OK'],
      ['a', 20, 30, checkStatic, 'CREDENTIAL_REVOKED'],
      ['a', 100, 110, { what: 'updateOwner', enabled: true }, 'OK'],
      ['a', 200, 210, checkStatic, 'ALLOWED'],
    ],
  ],
  [
    'a token outlives its permission',
    'violation',
    [
      ...[login, ['b', 100, 110, { what: 'updateUser', of_account: false }, 'OK'] as const],
      ['b', 120, 130, check, 'ALLOWED'],
    ],
  ],
  [
    'a token for the project keeps its access by the other permission',
    'ok',
    [
      ['a', 0, 10, { what: 'issue', token: 1, password: 1, scope: 'project' }, 'OK'],
      ['a', 100, 110, { what: 'updateUser', of_account: false, of_project: true }, 'OK'],
      ['a', 900, 910, check, 'ALLOWED'],
    ],
  ],
  [
    'a token for the project outlives the project',
    'violation',
    [
      ['a', 0, 10, { what: 'issue', token: 1, password: 1, scope: 'project' }, 'OK'],
      ['a', 100, 110, { what: 'deleteProject' }, 'OK'],
      ['a', 120, 130, { what: 'createProject' }, 'OK'],
      ['a', 140, 150, check, 'ALLOWED'],
    ],
  ],
  [
    'addresses are not restricted',
    'violation',
    [login, ['a', 100, 110, restrict, 'OK'], ['a', 120, 130, check, 'ALLOWED']],
  ],
]

const judges = await obtainJudge()

describe.skipIf(!judges.ok)('the judge of histories', () => {
  test.each(HISTORIES)('%s: %s', async (_what, verdict, rows) => {
    const operations = rows.map(
      ([host, call, end, question, answer], client): Operation => ({
        ...{ ...question, client, host, process: host, answer },
        call_us: call * 1_000,
        return_us: end * 1_000,
      }),
    )
    const history = { seed: 1, staleness_us: STALENESS_MS * 1_000, operations }
    expect(await judge(judges.ok ? judges.value : '', [history])).toMatchObject([{ verdict }])
  })
})
