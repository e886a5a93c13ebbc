/** The page about embedding, read to its end, and then its servers asked as clients ask them. */
import { beforeAll, describe, expect, test } from 'vitest'
import { DENIAL_STATUSES, REASONS } from '../../engine/index.ts'
import { blocksOf, fileOf, needOf, pageOf } from './page.ts'
import { readPage } from './story.ts'

const page = pageOf('docs/use/embedding.md')

describe('docs/use/embedding.md', () => {
  const terminal = readPage(page)
  const serve = async (command: string): Promise<string> => {
    const [, port] = /port: (\d+)/.exec(await terminal().start(command)) ?? []
    return `http://127.0.0.1:${port}`
  }

  // The servers of the page that need Node alone, by the block that is saved.
  const servers = blocksOf(page).filter(
    (block) => needOf(block) === undefined && /-server\.ts$/.test(fileOf(block) ?? ''),
  )

  describe.each(servers.map((block) => fileOf(block) ?? ''))('%s', (file) => {
    let origin: string
    beforeAll(async () => {
      origin = await serve(`node ${file}`)
    })
    const ask = async (path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${origin}${path}`, { headers })
      return {
        status: response.status,
        challenge: response.headers.get('www-authenticate'),
        body: await response.json(),
      }
    }
    const own = () => `/accounts/${terminal().meant('787613')}/balance`
    const token = () => terminal().meant('STATIC_TOKEN=…').replace('STATIC_TOKEN=', '')

    test('serves a request whose token opens the API', async () => {
      expect(await ask(own(), { 'x-token': token() })).toMatchObject({ status: 200, body: { balance: 42 } })
    })

    test.each<[what: string, headers: () => Record<string, string>, status: number, message: RegExp]>([
      ['without a token', () => ({}), 401, /^no credential arrived; `balance` accepts /],
      ['with an unknown token', () => ({ 'x-token': 'wrong' }), 401, /obtain a new one$/],
      [
        'with a token in the wrong header',
        () => ({ 'x-auth-token': token() }),
        401,
        /in the header of another kind/,
      ],
      [
        'with two tokens',
        () => ({ 'x-token': token(), 'x-auth-token': token() }),
        401,
        /send one token, once/,
      ],
    ])('refuses a request %s', async (_what, headers, status, message) => {
      const refusal = await ask(own(), headers())
      expect(refusal).toMatchObject({ status, body: { error: { message: expect.stringMatching(message) } } })
      expect(refusal.challenge).toMatch(
        /^Portcullis header="X-Auth-Token", reason="(?:CREDENTIAL_\w+|WRONG_HEADER)"/,
      )
    })

    test('does not show whether another account’s resource exists', async () => {
      const refusal = await ask('/accounts/another/balance', { 'x-token': token() })
      expect(refusal).toMatchObject({
        status: 404,
        body: { error: { message: 'there is no such resource' } },
      })
    })
  })

  test('every request is refused with 503 without a sidecar', async () => {
    const output = await terminal().start(
      `PORTCULLIS_GRPC_ADDRESS=unix:/no/listener/here node http-server.ts`,
    )
    const [, port] = /port: (\d+)/.exec(output) ?? []
    const response = await fetch(`http://127.0.0.1:${port}/accounts/1/balance`, {
      headers: { 'x-token': 'any' },
    })
    expect(response.status).toBe(503)
  })

  test('the table of reasons is that of the engine, in order, with the statuses of the middleware', () => {
    const rows = Array.from(page.text.matchAll(/^\| `([A-Z_]+)` \| (\d{3}) \|/gm), ([, reason, status]) => [
      reason,
      Number(status),
    ])
    expect(rows.map(([reason]) => reason)).toEqual([...REASONS])
    expect(DENIAL_STATUSES).toEqual(Object.fromEntries(rows))
  })
})
