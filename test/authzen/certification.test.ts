/**
 * The policy of AuthZEN's certification scenario as the matrix of examples/authzen: its eight decisions
 * (C-1.4) and its searches (C-1.5), asked of a sidecar. The scenario says `user`, `record` and `read`; a
 * sidecar says `token`, `api` and `call`. An enforcement point would translate these words as this file does.
 */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { askAt } from '../support/identity/identity.ts'
import { api, CALL, EVALUATION, EVALUATIONS, token } from '../support/proxies/authzen.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'

const { sidecar } = await runSidecar({
  flags: {
    ...{ 'http.authzen': true, 'http.address': '127.0.0.1:0' },
    matrix: join(ROOT, 'examples/authzen/matrix.json'),
  },
})
const port = Number(sidecar.httpAddress?.split(':').at(-1))
const post = (path: string, body: object) => askAt(port, { method: 'POST', path, body })

interface Said {
  readonly user: string
  readonly role?: 'admin'
  readonly action: 'read' | 'write' | 'delete'
  readonly soft?: boolean
  readonly record: 'record-1' | 'record-2'
  readonly status?: 'active' | 'archived'
}

/** The API of an action on a record. `record-2` is archived (C-1.2), said or not. */
const apiOf = ({ action, soft, record, status }: Omit<Said, 'user' | 'role'>) => {
  const archived = (status ?? (record === 'record-2' ? 'archived' : 'active')) === 'archived'
  return action === 'delete'
    ? `record-delete${soft ? '-soft' : ''}`
    : `record-${archived ? 'archived-' : ''}${action}`
}
const question = ({ user, role, ...call }: Said) => ({
  subject: token(role ?? user),
  action: CALL,
  resource: api(apiOf(call)),
})
const decide = async (said: Said, more: object = {}): Promise<boolean> => {
  const { status, json } = await post(EVALUATION, { ...question(said), ...more })
  expect(status).toBe(200)
  return json.decision
}

const RULES: readonly [rule: number, said: Said, decision: boolean][] = [
  [1, { user: 'alice', action: 'read', record: 'record-1' }, true],
  [2, { user: 'alice', action: 'write', record: 'record-1' }, true],
  [3, { user: 'bob', action: 'read', record: 'record-1' }, true],
  [4, { user: 'bob', action: 'write', record: 'record-1' }, false],
  [5, { user: 'alice', action: 'write', record: 'record-2', status: 'archived' }, false],
  [6, { user: 'bob', role: 'admin', action: 'write', record: 'record-2', status: 'archived' }, true],
  [7, { user: 'alice', action: 'delete', soft: true, record: 'record-1' }, true],
  [8, { user: 'alice', action: 'delete', soft: false, record: 'record-1' }, false],
]

test.each(RULES)('rule %i of C-1.4: %j is %s, with a context or without', async (_rule, said, decision) => {
  const context = { time: '2025-06-27T18:03-07:00', ip: '192.168.1.1' }
  expect([await decide(said), await decide(said, { context })]).toEqual([decision, decision])
})

test.each([
  ['execute_all', 8],
  ['deny_on_first_deny', 4],
  ['permit_on_first_permit', 1],
])('several at once, %s: the decisions in their order, and %i of them', async (semantic, count) => {
  const { json } = await post(EVALUATIONS, {
    evaluations: RULES.map(([, said]) => question(said)),
    options: { evaluations_semantic: semantic },
  })
  const decisions = json.evaluations.map(({ decision }: { decision: boolean }) => decision)
  expect(decisions).toEqual(RULES.map(([, , decision]) => decision).slice(0, count))
})

describe('the searches of C-1.5', () => {
  const search = async (searched: string, body: object): Promise<string[]> => {
    const { status, json } = await post(`/access/v1/search/${searched}`, { action: CALL, ...body })
    expect(status).toBe(200)
    return json.results.map(({ id, name }: { id?: string; name?: string }) => id ?? name)
  }
  const usersWho = (call: Omit<Said, 'user'>) =>
    search('subject', { subject: { type: 'token' }, resource: api(apiOf(call)) })
  const opened = (kind: string) => search('resource', { subject: token(kind), resource: { type: 'api' } })

  test('S1, S4: which users', async () => {
    expect(await usersWho({ action: 'read', record: 'record-1' })).toEqual(
      expect.arrayContaining(['alice', 'bob']),
    )
    expect(await usersWho({ action: 'write', record: 'record-2', status: 'archived' })).toContain('bob')
  })

  test('S2, S5: which records', async () => {
    expect(await opened('alice')).toContain(apiOf({ action: 'read', record: 'record-1' }))
    expect(await opened('admin')).toContain(apiOf({ action: 'write', record: 'record-2' }))
  })

  test('S3, S6: which actions', async () => {
    for (const [kind, call] of [
      ['alice', { action: 'read', record: 'record-1' }],
      ['alice', { action: 'write', record: 'record-1' }],
      ['admin', { action: 'write', record: 'record-2', status: 'archived' }],
    ] as const)
      expect(await search('action', { subject: token(kind), resource: api(apiOf(call)) })).toEqual(['call'])
  })

  test('C-4.6: what is unknown has no results', async () => {
    expect(await opened('nonexistent-user')).toEqual([])
    expect(await search('subject', { subject: { type: 'spaceship' }, resource: api('record-read') })).toEqual(
      [],
    )
  })
})
