/**
 * The middleware of the client package: in front of node:http and Fastify; Express and Hono are in
 * test/interop/frameworks.test.ts.
 */
import type { IncomingMessage } from 'node:http'
import fastify, { type FastifyRequest } from 'fastify'
import { describe, expect, test } from 'vitest'
import {
  answerOf as answerOfFastify,
  requireToken as requireTokenOfFastify,
} from '../../clients/typescript/fastify.ts'
import { Gate } from '../../clients/typescript/gate.ts'
import { type Check, type CheckAnswer, PortcullisError } from '../../clients/typescript/index.ts'
import { answerOf, requireToken } from '../../clients/typescript/node.ts'
import { accountIn, guards, listening } from '../support/proxies/middleware.ts'
import { connect } from '../support/sidecar/client.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, whenTheFileEnds } from '../support/suite/resources.ts'

guards('node:http', async ({ target, ...options }) => {
  const gate = requireToken('balance', { ...options, target: ({ url }) => target(accountIn(url)) })
  return listening((request, response) =>
    gate(request, response, () =>
      response.end(JSON.stringify({ served: answerOf(request)?.token?.subject.name })),
    ),
  )
})

guards('Fastify', async ({ target, ...options }) => {
  const server = fastify()
  const onRequest = requireTokenOfFastify('balance', {
    ...options,
    target: (request: { params: unknown; raw: IncomingMessage; ip: string }) =>
      target((request.params as { account: string }).account),
  })
  server.get('/accounts/:account/balance', { onRequest }, async (request) => ({
    served: answerOfFastify(request)?.token?.subject.name,
  }))
  whenTheFileEnds(() => server.close())
  return server.listen({ host: '127.0.0.1', port: 0 })
})

// The types of Fastify say under `strict` where it can stand.
test('a guard is a hook of Fastify in every place that has one', async () => {
  const client = connect('unix:/nowhere/to/be/found')
  const options = { client, onFailure: () => {} }
  const target = ({ params }: FastifyRequest<{ Params: { account: string } }>) => ({
    account: params.account,
  })
  const server = fastify()
  const handler = async () => 'served'
  server.get('/onRequest', { onRequest: requireTokenOfFastify('balance', options) }, handler)
  server.get('/preHandler', { preHandler: requireTokenOfFastify('balance', { ...options }) }, handler)
  server.get('/list', { onRequest: [requireTokenOfFastify({ routes: true, ...options })] }, handler)
  server.get('/of/:account', { onRequest: requireTokenOfFastify('balance', { ...options, target }) }, handler)
  server.route({
    method: 'GET',
    url: '/route',
    preHandler: requireTokenOfFastify('balance', options),
    handler,
  })
  await server.register(async (part) => {
    part.addHook('onRequest', requireTokenOfFastify({ routes: true, ...options }))
    part.get('/hook', handler)
  })
  whenTheFileEnds(() => server.close())
  const origin = await server.listen({ host: '127.0.0.1', port: 0 })
  for (const url of ['/onRequest', '/preHandler', '/list', '/of/1', '/route', '/hook'])
    expect((await fetch(`${origin}${url}`)).status, url).toBe(503)
})

const ALLOWED: CheckAnswer = {
  allowed: true,
  reason: 'ALLOWED',
  message: '',
  header: 'X-Token',
  scheme: '',
  accepted: [],
  conflicts: [],
  advice: [],
  digest: '',
  strict: false,
  rulesDigest: '',
  verified: true,
  token: undefined,
  cacheForMs: 1_000,
}

/** A gate whose sidecar gives these answers in turn, and what it was asked. */
function gateWith(answers: readonly Partial<CheckAnswer>[], options: object = {}) {
  const asked: Check[] = []
  let nowMs = 0
  const check = async (question: Check) => {
    asked.push(question)
    return { ...ALLOWED, ...answers[Math.min(asked.length, answers.length) - 1] }
  }
  const gate = new Gate(['balance', { client: { check }, ...options }], () => nowMs)
  const judge = async (headers: Record<string, string>, address?: string, account?: string) => {
    const { signal } = new AbortController()
    const request = { method: 'GET', host: 'a', path: '/' }
    const verdict = await gate.judge({ account } as never, { headers, request, address, signal })
    return verdict.type === 'denied' ? verdict.denial.status : verdict.type
  }
  const wait = (ms: number) => {
    nowMs += ms
  }
  return { asked, judge, wait }
}

describe('an answer is reused', () => {
  test('for as long as it says, and not a moment longer', async () => {
    const { asked, judge, wait } = gateWith([{}, { allowed: false, reason: 'CREDENTIAL_REVOKED' }])
    expect([await judge({ 'X-Token': 'a' }), await judge({ 'X-Token': 'a' })]).toEqual(['passes', 'passes'])
    wait(999)
    expect(await judge({ 'X-Token': 'a' })).toBe('passes')
    wait(1)
    expect(await judge({ 'X-Token': 'a' })).toBe(401)
    expect(asked).toHaveLength(2)
  })

  test('not at all where it says so, or where nothing is kept', async () => {
    const uncached = gateWith([{ cacheForMs: 0 }])
    const unkept = gateWith([{}], { cacheEntries: 0 })
    for (const { judge, asked } of [uncached, unkept]) {
      await judge({ 'X-Token': 'a' })
      await judge({ 'X-Token': 'a' })
      expect(asked).toHaveLength(2)
    }
  })

  test('for equal questions alone: credential, header, address and target', async () => {
    const { asked, judge } = gateWith([{}], {
      target: ({ account }: { account?: string }) => ({ account: account ?? '1' }),
    })
    await judge({ 'X-Token': 'a', Accept: '*/*', 'User-Agent': 'x', traceparent: '1' })
    await judge({ 'X-Token': 'a', Accept: 'text/html', 'User-Agent': 'y', traceparent: '2' })
    expect(asked).toHaveLength(1)
    await judge({ 'X-Token': 'b' })
    await judge({ 'X-Auth-Token': 'a' })
    await judge({ 'X-Token': 'a', 'X-Auth-Token': 'a' })
    await judge({ 'X-Token': 'a' }, '10.0.0.1')
    await judge({ 'X-Token': 'a' }, undefined, '2')
    expect(asked).toHaveLength(6)
    // A question that was not asked cannot have been reused.
    expect(asked[0]).toEqual({ api: 'balance', credentials: [['X-Token', 'a']], target: { account: '1' } })
  })

  test('without leaving out a header that a matrix could have its tokens in', async () => {
    const { asked, judge } = gateWith([{}])
    // Proxies that log users in send such a header, and a matrix may name it.
    await judge({ 'X-Forwarded-Access-Token': 'a', 'X-Forwarded-For': '10.0.0.1' })
    expect(asked).toEqual([{ api: 'balance', credentials: [['X-Forwarded-Access-Token', 'a']] }])
  })

  test('a bounded number of them', async () => {
    const { asked, judge } = gateWith([{}], { cacheEntries: 2 })
    for (const token of ['a', 'b', 'c', 'c', 'b', 'a']) await judge({ 'X-Token': token })
    const tokens = asked.map((each) => 'credentials' in each && each.credentials)
    expect(tokens).toEqual(['a', 'b', 'c', 'a'].map((token) => [['X-Token', token]]))
  })
})

test('a call that is cancelled ends at once', async () => {
  const { client } = await runSidecar()
  const error = await client
    .check({ api: 'balance', credentials: {} }, { signal: AbortSignal.abort() })
    .catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(PortcullisError)
  expect(error).toMatchObject({ code: 'CANCELLED' })
})

/** The lines that are printed on standard error meanwhile. */
async function printed(meanwhile: (sofar: readonly unknown[]) => Promise<void>): Promise<unknown[]> {
  const lines: unknown[] = []
  const { error } = console
  console.error = (line: unknown) => lines.push(line)
  try {
    await meanwhile(lines)
  } finally {
    console.error = error
  }
  return lines
}

describe('an API that the matrix does not have', () => {
  const MESSAGE = 'the matrix has no API `balnce`, so the requests of its guard are denied'
  const HINT = '; did you mean `balance`?'
  const turns = async () => {
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
  }
  const told = (apis: string[] | 'no answer', answer: Partial<CheckAnswer> = {}) => {
    const errors: string[] = []
    let asked = 0
    const client = {
      check: async () => ({ ...ALLOWED, cacheForMs: 0, ...answer }),
      getMatrix: async () => {
        asked++
        if (apis === 'no answer') throw new Error('there is no sidecar')
        return { apis: apis.map((id) => ({ id })) } as never
      },
    }
    const gateOf = (api: string) =>
      new Gate([api, { client, onFailure: (error) => errors.push((error as Error).message) }])
    const judge = (gate: Gate<object>) =>
      gate.judge(
        {},
        {
          ...{ headers: {}, request: { method: 'GET', host: '', path: '/' } },
          ...{ address: undefined, signal: new AbortController().signal },
        },
      )
    return { errors, gateOf, judge, asked: () => asked }
  }

  test('is said at the start, once for each, with one question for all guards', async () => {
    const { errors, gateOf, judge, asked } = told(['balance', 'reports'], {
      ...{ allowed: false, reason: 'UNKNOWN_API' },
    })
    const gates = ['balnce', 'balance', 'balnce', 'nothing'].map(gateOf)
    expect(errors).toEqual([])
    await turns()
    const expected = [
      MESSAGE + HINT,
      'the matrix has no API `nothing`, so the requests of its guard are denied',
    ]
    expect([errors, asked()]).toEqual([expected, 1])
    for (const gate of [gates[0], gates[2], gates[3], gates[0]]) await judge(gate as Gate<object>)
    await turns()
    expect(errors).toEqual(expected)
  })

  test('is said once at a denial, where nothing answered at the start', async () => {
    const { errors, gateOf, judge } = told('no answer', { allowed: false, reason: 'UNKNOWN_API' })
    const gate = gateOf('balnce')
    await turns()
    expect(errors).toEqual([])
    for (let index = 0; index < 5; index++) expect((await judge(gate)).type).toBe('denied')
    await turns()
    expect(errors).toEqual([MESSAGE])
  })

  test('is not said of one that it has, and no question of a request waits for the matrix', async () => {
    const { errors, gateOf, judge } = told(['balance'])
    expect((await judge(gateOf('balance'))).type).toBe('passes')
    const silent = { check: async () => ALLOWED, getMatrix: () => new Promise<never>(() => {}) }
    expect((await judge(new Gate(['balance', { client: silent }]))).type).toBe('passes')
    await turns()
    expect(errors).toEqual([])
  })

  test('is said by a sidecar, on standard error, with and without local mode', async () => {
    const { address, client } = await runSidecar()
    const following = connect(address, { local: { onFailure: () => {} } })
    whenTheFileEnds(() => following.close())
    const lines = await printed(async (sofar) => {
      for (const each of [client, following]) requireToken('balnce', { client: each })
      await eventually(() => sofar.length >= 2)
    })
    expect(lines).toEqual([`portcullis: ${MESSAGE}${HINT}`, `portcullis: ${MESSAGE}${HINT}`])
  })
})

describe('while no sidecar answers', () => {
  const UNAVAILABLE = new PortcullisError({ code: 14, details: 'nothing there', message: '' })
  const REFUSED = 'portcullis: no answer, so a request was refused:'
  /** Guards that share a client, and a clock. `mode.error` is what the client says. */
  const outage = (listener?: (error: unknown) => void) => {
    const mode: { nowMs: number; error: unknown; cacheForMs: number } = {
      ...{ nowMs: 0, error: UNAVAILABLE, cacheForMs: 0 },
    }
    const answer = async <T>(value: T): Promise<T> => {
      if (mode.error !== undefined) throw mode.error
      return value
    }
    const client = {
      check: () => answer({ ...ALLOWED, cacheForMs: mode.cacheForMs }),
      getMatrix: () => answer({ apis: [{ id: 'balance' }] } as never),
    }
    const gates = [0, 1].map(
      () =>
        new Gate<object>(['balance', { client, ...(listener && { onFailure: listener }) }], () => mode.nowMs),
    )
    const judge = async (nowMs: number, gate = 0) => {
      mode.nowMs = nowMs
      const { signal } = new AbortController()
      const request = { method: 'GET', host: 'a', path: '/' }
      return (await gates[gate]?.judge({}, { headers: {}, request, address: undefined, signal }))?.type
    }
    return { mode, judge }
  }
  const turns = async () => {
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
  }

  test('the guards of a client print its start, then a count, and its end', async () => {
    const lines = await printed(async () => {
      const { mode, judge } = outage()
      await turns()
      for (const nowMs of [1, 2, 3]) expect(await judge(nowMs, nowMs % 2)).toBe('denied')
      expect(await judge(60_000)).toBe('denied')
      mode.error = undefined
      expect(await judge(69_999)).toBe('passes')
      expect(await judge(70_000, 1)).toBe('passes')
      expect(await judge(70_001)).toBe('passes')
      mode.error = UNAVAILABLE
      expect(await judge(70_002)).toBe('denied')
    })
    expect(lines).toEqual([
      'portcullis: nothing there; requests are denied until a sidecar answers',
      'portcullis: 4 more requests could not be checked: UNAVAILABLE nothing there',
      'portcullis: the sidecar answers again; 4 requests could not be checked',
      `${REFUSED} UNAVAILABLE nothing there`,
    ])
  })

  test('an answer that is reused ends nothing', async () => {
    const lines = await printed(async () => {
      const { mode, judge } = outage()
      Object.assign(mode, { error: undefined, cacheForMs: 30_000 })
      await turns()
      expect(await judge(0)).toBe('passes')
      mode.error = UNAVAILABLE
      expect(await judge(1, 1)).toBe('denied')
      expect(await judge(20_000)).toBe('passes')
    })
    expect(lines).toEqual([`${REFUSED} UNAVAILABLE nothing there`])
  })

  test('a fault of the program is a line each time, and no outage', async () => {
    const lines = await printed(async () => {
      const { mode, judge } = outage()
      mode.error = new TypeError('a fault')
      await turns()
      for (const nowMs of [1, 2]) expect(await judge(nowMs)).toBe('denied')
      mode.error = undefined
      expect(await judge(50_000)).toBe('passes')
    })
    expect(lines).toEqual([`${REFUSED} TypeError: a fault`, `${REFUSED} TypeError: a fault`])
  })

  test('a listener gets each failure, and the one of the start once', async () => {
    const failures: unknown[] = []
    const lines = await printed(async () => {
      const { judge } = outage((error) => failures.push(error))
      await turns()
      expect(failures).toEqual([UNAVAILABLE])
      for (const nowMs of [1, 2, 3]) await judge(nowMs)
    })
    expect([failures.length, lines]).toEqual([4, []])
  })

  test('a guard says at its start where no sidecar answers', async () => {
    const client = connect('unix:/nowhere/to/be/found')
    whenTheFileEnds(() => client.close())
    const lines = await printed(async (sofar) => {
      for (const api of ['balance', 'balnce']) requireToken(api, { client })
      await eventually(() => sofar.length > 0)
      await turns()
    })
    expect(lines).toEqual([
      expect.stringMatching(
        /^portcullis: no sidecar answers at unix:\/nowhere\/to\/be\/found \(.+\); requests are denied until a sidecar answers$/,
      ),
    ])
  })
})

test('an API must be named', () => {
  expect(() => requireToken('')).toThrow(
    new TypeError('api: expected the id of an API, or `{ routes: true }`'),
  )
})
