/**
 * Where a target refuses the token, the request is sent once more with a new one. Nothing that was streamed
 * is repeated.
 */
import { describe, expect, test } from 'vitest'
import { ask, recorded, runEgress, startTarget } from '../support/sidecar/egress.ts'

describe('a 401 of the target', () => {
  /** Refuses the tokens that were seen before the last `forget`, or all of them. */
  const seen: string[] = []
  let refuses: (token: string) => boolean = () => true
  const bodies: string[] = []
  const strict = startTarget(async (incoming, response) => {
    const token = String(incoming.headers['x-auth-token'])
    const { body } = await recorded(incoming)
    bodies.push(body)
    const refused = refuses(token)
    seen.push(token)
    response.writeHead(refused ? 401 : 200).end(refused ? 'refused' : `took ${body}`)
  })
  const started = strict.then(({ url }) => runEgress([{ url }]))

  const tried = async (wish: Parameters<typeof ask>[2], refusing: (token: string) => boolean) => {
    const { egress: address } = await started
    seen.length = 0
    bodies.length = 0
    refuses = refusing
    const { status, text } = await ask(address, '/', wish)
    return { status, text, tokens: new Set(seen).size, attempts: seen.length, bodies: [...bodies] }
  }
  const first = () => seen.length === 0

  test.each<[claim: string, wish: Parameters<typeof ask>[2], body: string]>([
    ['without a body', {}, ''],
    ['with a small body', { body: 'small' }, 'small'],
    ['with the largest body that is kept', { body: 'x'.repeat(65_536) }, 'x'.repeat(65_536)],
  ])('%s: it is sent once more, with a new token', async (_claim, wish, body) => {
    expect(await tried(wish, first)).toEqual({
      status: 200,
      text: `took ${body}`,
      tokens: 2,
      attempts: 2,
      bodies: [body, body],
    })
  })

  test.each<[claim: string, wish: Parameters<typeof ask>[2]]>([
    ['a larger body', { body: 'x'.repeat(65_537) }],
    ['a body whose length is not known', { headers: { 'transfer-encoding': 'chunked' }, body: 'x' }],
  ])('%s is never sent again: the client gets the 401', async (_claim, wish) => {
    expect(await tried(wish, first)).toMatchObject({ status: 401, text: 'refused', attempts: 1 })
  })

  test('to many requests at once leads to one new token', async () => {
    const { egress: address } = await started
    await tried({}, () => false)
    const old = seen.at(-1)
    seen.length = 0
    refuses = (token) => token === old
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(address, '/')))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(new Set(seen).size).toBe(2)
  })

  test('twice in a row reaches the client, and then no new tokens are obtained for a while', async () => {
    expect(await tried({}, () => true)).toMatchObject({
      status: 401,
      text: 'refused',
      attempts: 2,
      tokens: 2,
    })
    expect(await tried({}, () => true)).toMatchObject({ status: 401, text: 'refused', attempts: 1 })
  })

  test('to a static token reaches the client: there is no other', async () => {
    const { url } = await strict
    refuses = () => true
    seen.length = 0
    const { egress: address } = await runEgress([{ url, api: 'reports', profile: 'with-static' }])
    expect((await ask(address, '/')).status).toBe(401)
    expect(seen).toHaveLength(1)
  })
})
