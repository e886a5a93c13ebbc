/**
 * `POST /access/v1/search/…`: the results are exactly those that an evaluation permits, and pages have all of
 * them.
 */
import { describe, expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { answerSearch } from '../../sidecar/http/authzen/authzen-search.ts'
import type { Asked } from '../../sidecar/http/authzen/evaluations.ts'
import { ACCOUNT, OTHER_ACCOUNT } from '../support/identity/identity.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'
import {
  api,
  CALL,
  credential,
  EVALUATION,
  type Owner,
  startAuthzen,
  token,
} from '../support/proxies/authzen.ts'
import { TESTER } from '../support/sidecar/actor.ts'

const sidecar = await startAuthzen()
const { post, credentials, running } = sidecar
const { engine } = running.sidecar.rules
const APIS = [...engine.apis.keys()]
const KINDS = [...engine.tokenKinds.keys()]
const OWNERS: readonly (Owner | undefined)[] = [
  undefined,
  { account: ACCOUNT },
  { account: ACCOUNT, project: 'alpha' },
  { account: OTHER_ACCOUNT },
]

const search = async (searched: 'subject' | 'resource' | 'action', body: object) => {
  const { status, json } = await post(`/access/v1/search/${searched}`, { action: CALL, ...body })
  expect([status, json.page.count]).toEqual([200, json.results.length])
  expect(Object.keys(json)).toEqual(['page', 'context', 'results'])
  return json
}
const idsOf = ({ results }: { results: { id: string }[] }) => results.map(({ id }) => id)

/** The engine's answer about claims as an evaluation takes them. */
const permits = (kind: string, id: string, scope: Owner | undefined, target: Owner | undefined) => {
  const anywhere =
    engine.tokenKinds.get(kind)?.scopeLevel === 'project' ? { account: '1', project: 'a' } : { account: '1' }
  const asked = scope === undefined && target === undefined ? anywhere : scope
  return engine.decide({ api: id, kind, scope: asked as Owner, target }).allowed
}

describe('every cell, scope and target', () => {
  test('kinds that may call', async () => {
    for (const id of [...APIS, 'nothing'])
      for (const scope of OWNERS)
        for (const target of id === 'managed-kubernetes' || id === 'balance' ? OWNERS : [undefined]) {
          const found = await search('subject', {
            subject: { type: 'token', ...(scope && { properties: scope }) },
            resource: api(id, target),
          })
          const expected = KINDS.filter((kind) => permits(kind, id, scope, target))
          expect([id, scope, target, found.results]).toEqual([
            id,
            scope,
            target,
            expected.map((kind) => token(kind)),
          ])
        }
  })

  test('APIs that a kind opens', async () => {
    for (const kind of [...KINDS, 'nothing'])
      for (const scope of OWNERS)
        for (const target of OWNERS) {
          const found = await search('resource', {
            subject: token(kind, scope),
            resource: { type: 'api', ...(target && { properties: target }) },
          })
          const expected = APIS.filter((id) => permits(kind, id, scope, target))
          expect([kind, scope, target, found.results]).toEqual([
            kind,
            scope,
            target,
            expected.map((id) => api(id)),
          ])
        }
  })

  test('actions that a kind may do', async () => {
    for (const kind of KINDS)
      for (const id of APIS) {
        const { results } = await search('action', { subject: token(kind), resource: api(id) })
        expect(results).toEqual(permits(kind, id, undefined, undefined) ? [CALL] : [])
      }
  })

  test.each(Object.keys(credentials) as (keyof typeof credentials)[])(
    'APIs that a credential opens: %s',
    async (name) => {
      const subject = credential(credentials[name])
      for (const target of OWNERS) {
        const resource = { type: 'api', ...(target && { properties: target }) }
        const found = idsOf(await search('resource', { subject, resource }))
        const evaluated: string[] = []
        for (const id of APIS) {
          const { json } = await post(EVALUATION, { subject, action: CALL, resource: api(id, target) })
          if (json.decision) evaluated.push(id)
        }
        expect(found).toEqual(evaluated)
      }
      const opened = idsOf(await search('resource', { subject, resource: { type: 'api' } })).length
      expect(opened > 0).toBe(name !== 'none' && name !== 'forged')
    },
  )
})

test('a credential that opens no API gets the reason of its denial', async () => {
  const { results, context } = await search('resource', {
    subject: credential(credentials.forged),
    resource: { type: 'api' },
  })
  expect(results).toEqual([])
  expect(context).toEqual({
    reason: 'CREDENTIAL_INVALID',
    message: expect.any(String),
    digest: engine.digest,
    strict: false,
    rules_digest: engine.rulesDigest,
  })
})

test('the address of the context counts for a search', async () => {
  const subject = credential(credentials.account)
  const count = async (context: object) =>
    (await search('resource', { subject, resource: { type: 'api' }, context })).page.count
  await running.sidecar.run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: ['203.0.113.0/24'] })
  expect(await count({})).toBe(0)
  expect(await count({ client_address: '203.0.113.1' })).toBeGreaterThan(0)
  await running.sidecar.run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: [] })
})

describe('the shapes of the certification profile', () => {
  const subjects = { subject: { type: 'token' }, resource: api('balance') }
  const resources = { subject: token('static_token'), resource: { type: 'api' } }
  const actions = { subject: token('static_token'), resource: api('balance') }
  const context = { time: '2025-06-27T18:03-07:00', ip: '192.168.1.1' }

  test('a context changes nothing, and neither does the id that is searched', async () => {
    const same = async (
      searched: 'subject' | 'resource' | 'action',
      body: object,
      others: readonly object[],
    ) => {
      const { results } = await search(searched, body)
      expect(results.length).toBeGreaterThan(0)
      for (const other of others)
        expect((await search(searched, { ...body, ...other })).results).toEqual(results)
    }
    await same('subject', subjects, [
      { context },
      { subject: token('static_token') },
      { subject: { type: 'token', id: 5 } },
    ])
    await same('resource', resources, [{ context }, { resource: api('iam') }])
    await same('action', actions, [{ context }, { action: 5 }, { action: undefined }])
  })

  test.each<['subject' | 'resource' | 'action', object]>([
    ['subject', { ...subjects, subject: { type: 'spaceship' } }],
    ['subject', { ...subjects, resource: { type: 'planet', id: '1' } }],
    ['subject', { ...subjects, resource: api('nothing') }],
    ['subject', { ...subjects, action: { name: 'fly' } }],
    ['resource', { ...resources, resource: { type: 'planet' } }],
    ['resource', { ...resources, subject: token('nothing') }],
    ['resource', { ...resources, subject: { type: 'spaceship', id: '1' } }],
    ['action', { ...actions, subject: token('nothing') }],
    ['action', { ...actions, subject: { type: 'spaceship', id: '1' } }],
    ['action', { ...actions, resource: { type: 'planet', id: '1' } }],
  ])('an unknown name has no results: %s of %j', async (searched, body) => {
    expect(await search(searched, body)).toMatchObject({ page: { next_token: '', count: 0 }, results: [] })
  })
})

describe('pages', () => {
  const body = { subject: token('iam_token_account_scoped'), resource: { type: 'api' } }
  const pageOf = (page: object, more: object = {}) => search('resource', { ...body, ...more, page })

  test.each([1, 2, 7, 100, 5000])('of %i have every result once, in order', async (limit) => {
    const all = idsOf(await search('resource', body))
    const found: string[] = []
    let answer = await pageOf({ limit })
    for (;;) {
      expect(answer.page.count).toBeLessThanOrEqual(limit)
      found.push(...idsOf(answer))
      const { next_token } = answer.page
      expect(next_token).toMatch(/^([\w-]{32})?$/)
      if (next_token === '') break
      // The limit of the first request holds, said again or not.
      answer = await pageOf(found.length % 2 === 0 ? { token: next_token } : { token: next_token, limit })
    }
    expect(found).toEqual(all)
  })

  test('of 0 say only whether there is more', async () => {
    expect(await pageOf({ limit: 0 })).toMatchObject({
      page: { next_token: expect.stringMatching(/./) },
      results: [],
    })
    expect((await pageOf({ limit: 0 }, { subject: token('nothing') })).page.next_token).toBe('')
  })

  test('after one of 0 begin with the first result', async () => {
    const { next_token } = (await pageOf({ limit: 0 })).page
    expect(await pageOf({ token: next_token })).toMatchObject(await search('resource', body))
  })

  test('go on, whatever the order of the members', async () => {
    const { page } = await pageOf({ limit: 2 }, { context: { a: 1, b: { c: 2, d: 3 } } })
    const next = await search('resource', {
      page: { token: page.next_token },
      resource: { type: 'api' },
      context: { b: { d: 3, c: 2 }, a: 1 },
      subject: { id: 'iam_token_account_scoped', type: 'token' },
    })
    expect(next.page.count).toBe(2)
  })

  test('of a credential go on, although it is written in another way', async () => {
    const [[name = '', value = '']] = Object.entries(credentials.account) as [[string, string]]
    const first = await pageOf({ limit: 2 }, { subject: credential({ [name]: value }) })
    const page = { token: first.page.next_token }
    const second = await pageOf(page, {
      subject: credential({ [name.toLowerCase()]: [value], accept: '*/*' }),
    })
    expect(second.page.count).toBe(2)
    expect(idsOf(second)).not.toEqual(idsOf(first))
  })

  test('of a credential are of the rest of its request, too', async () => {
    const subject = credential(credentials.account)
    const { page } = await pageOf({ limit: 2 }, { subject })
    for (const more of [{ id: 'request 2' }, { properties: { ...subject.properties, ip: '::1' } }]) {
      const answer = await post('/access/v1/search/resource', {
        ...{ ...body, action: CALL, subject: { ...subject, ...more } },
        page: { token: page.next_token },
      })
      expect([answer.status, answer.text]).toEqual([400, expect.stringMatching(/^page\.token/)])
    }
  })

  test('of a credential are of that credential alone', async () => {
    const asked = (name: 'account' | 'stranger', page: object) => ({
      ...{ subject: credential(credentials[name]), action: CALL, resource: { type: 'api' } },
      page,
    })
    const { page } = await search('resource', asked('account', { limit: 2 }))
    const answer = await post('/access/v1/search/resource', asked('stranger', { token: page.next_token }))
    expect(answer.status).toBe(400)
  })

  test.each<[claim: string, more: object, page?: object]>([
    ['another subject', { subject: token('static_token') }],
    ['another scope', { subject: token('iam_token_account_scoped', { account: '1' }) }],
    ['a credential', { subject: credential(credentials.account) }],
    ['another target', { resource: { type: 'api', properties: { account: '1' } } }],
    ['another action', { action: { name: 'read' } }],
    ['another address', { context: { client_address: '203.0.113.1' } }],
    ['another limit', {}, { limit: 3 }],
    ['other properties of a subject', { subject: { ...body.subject, properties: { department: 'sales' } } }],
    ['other properties of a resource', { resource: { type: 'api', properties: { status: 'old' } } }],
    ['the id that is searched', { resource: api('balance') }],
    ['other properties of an action', { action: { ...CALL, properties: { soft: true } } }],
    ['another context', { context: { time: '2025-06-27T18:03-07:00' } }],
    ['a member that the standard does not know', { __proto: 1 }],
    ['other properties of the page', {}, { properties: { order: 'id' } }],
  ])('a token is refused for %s', async (_claim, more, page) => {
    const { page: first } = await pageOf({ limit: 2 })
    const { status, text } = await post('/access/v1/search/resource', {
      ...{ action: CALL, ...body, ...more },
      page: { token: first.next_token, ...page },
    })
    expect([status, text]).toEqual([400, expect.stringMatching(/^page\.token: expected the `next_token`/)])
  })

  test('a token that was changed or made up is refused, and so is that of another search', async () => {
    const { next_token } = (await pageOf({ limit: 2 })).page as { next_token: string }
    const flipped = Array.from(
      next_token,
      (letter, index) =>
        next_token.slice(0, index) + (letter === 'A' ? 'B' : 'A') + next_token.slice(index + 1),
    )
    const { page } = await search('subject', {
      subject: { type: 'token' },
      resource: api('balance'),
      page: { limit: 1 },
    })
    const others = [
      '',
      'x',
      'é',
      `${next_token}=`,
      `${next_token} `,
      next_token.slice(1),
      next_token.repeat(100),
      page.next_token,
    ]
    for (const made of [...flipped, ...others]) {
      const { status } = await post('/access/v1/search/resource', {
        action: CALL,
        ...body,
        page: { token: made },
      })
      expect([made, status]).toEqual([made, 400])
    }
  })

  test('a new matrix ends a search', async () => {
    const first = { subject: { type: 'token' }, action: CALL, resource: api('lobby') }
    const asked = (strict: boolean): Asked => ({
      services: { engine: compile(smallMatrix(), { strict }) } as unknown as Asked['services'],
      cacheForMs: 0,
      evaluationsMax: 1,
      asker: { connection: {}, listener: undefined },
      explain: () => ({ status: 500, message: '' }),
    })
    const { page } = (await answerSearch(asked(false), { ...first, page: { limit: 0 } }, 'subject')) as {
      page: { next_token: string }
    }
    expect(page.next_token).not.toBe('')
    const next = { ...first, page: { token: page.next_token } }
    await expect(answerSearch(asked(false), next, 'subject')).resolves.toBeTruthy()
    await expect(answerSearch(asked(true), next, 'subject')).rejects.toThrow('after a change of the matrix')
  })
})
