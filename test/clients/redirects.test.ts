/** The conformance suite of redirects, with the `fetch` of the TypeScript client before real servers. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { credentialFetch } from '../../clients/typescript/fetch.ts'
import type { IssuedToken } from '../../clients/typescript/index.ts'
import { linesOf } from '../support/conformance/files.ts'
import type { OriginLine, RedirectLine } from '../support/conformance/redirects.ts'
import { whenTheFileEnds } from '../support/suite/resources.ts'

/** Gives `token-1`, `token-2` and so on. */
function issuer(header = 'X-Auth-Token', scheme?: string) {
  let count = 0
  const issue = async () => {
    const value = `token-${++count}`
    return { header, value, headerValue: scheme === undefined ? value : `${scheme} ${value}` } as IssuedToken
  }
  return { issue }
}

const options = { profile: 'job', api: 'balance' }

/** The line that the servers play now, and the requests so far. */
let line: Pick<RedirectLine, 'answers'> = { answers: [] }
let seen: { path: string; request: RedirectLine['requests'][number]; headers: NodeJS.Dict<string[]> }[] = []

async function serve(name: 'a' | 'b'): Promise<number> {
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString()
    const { method = '', headersDistinct: headers } = request
    const { status, location } = line.answers[seen.length] ?? { status: 200 }
    seen.push({
      path: request.url ?? '',
      request: [name, method, headers['x-auth-token']?.join() ?? null, body],
      headers,
    })
    response.writeHead(status, location === undefined ? {} : { location: placed(location) }).end('answer')
  }).listen(0, '127.0.0.1')
  whenTheFileEnds(() => void server.close().closeAllConnections())
  await new Promise((resolve) => server.once('listening', resolve))
  return (server.address() as AddressInfo).port
}

const [a, b] = [await serve('a'), await serve('b')]
const start = `http://127.0.0.1:${a}/start`

const placed = (location: string) =>
  location
    .replaceAll('{a}', `127.0.0.1:${a}`)
    .replaceAll('{b}', `127.0.0.1:${b}`)
    .replaceAll('{a.port}', `${a}`)

async function play(
  answers: RedirectLine['answers'],
  init: RequestInit,
  send = credentialFetch(issuer(), options),
) {
  line = { answers }
  seen = []
  return send(start, init).catch((error: unknown) => {
    expect(error).toBeInstanceOf(TypeError)
  })
}

const lines = linesOf<RedirectLine | OriginLine>('redirects')

test.each(lines.filter((each) => 'answers' in each))('$name', async (row) => {
  const { answers, method, body, requests, least = requests.length } = row
  const response = await play(answers, { method, ...(body !== '' && { body }) })
  const found = seen.map(({ request }) => request)
  expect(found.length).toBeGreaterThanOrEqual(least)
  expect(found).toEqual(requests.slice(0, found.length))
  expect(response?.status ?? answers[found.length - 1]?.status).toBe(answers[found.length - 1]?.status)
})

test.each(lines.filter((each) => 'from' in each))('$from and $to: $same', async ({ from, to, same }) => {
  const tokens: (string | null)[] = []
  // Names of other machines are not asked.
  const network: typeof fetch = async (input) => {
    tokens.push(new Request(input).headers.get('x-auth-token'))
    return tokens.length === 1
      ? new Response(null, { status: 302, headers: { location: to } })
      : new Response()
  }
  await credentialFetch(issuer(), { ...options, fetch: network })(from).catch((error: unknown) => {
    // A redirect to a URL with a user is an error.
    expect(to, String(error)).toContain('@')
  })
  expect(tokens).toEqual(to.includes('@') ? ['token-1'] : ['token-1', same ? 'token-1' : null])
})

describe('as the standard of fetch has it:', () => {
  const secrets = {
    authorization: 'Basic of-the-program',
    cookie: 'session=1',
    'proxy-authorization': 'Basic x',
  }
  const own = { ...secrets, 'x-own': 'kept', 'x-auth-token': 'of-the-program' }
  const away = { status: 307, location: 'http://{b}/away' }
  const ok = { status: 200 }

  test('credentials that the program has for one origin do not leave it', async () => {
    await play([{ status: 307, location: '/here' }, away, ok], { headers: own })
    const found = seen.map(({ headers }) =>
      Object.keys(own).filter((name) => headers[name]?.includes(own[name as keyof typeof own])),
    )
    const within = [...Object.keys(secrets), 'x-own']
    expect(found).toEqual([within, within, ['x-own']])
  })

  test('a token in `Authorization` takes the place of that of the program, and does not leave the origin', async () => {
    const send = credentialFetch(issuer('Authorization', 'Bearer'), options)
    await play([{ status: 401 }, away, ok], { headers: own }, send)
    expect(seen.map(({ headers }) => headers.authorization)).toEqual([
      ['Bearer token-1'],
      ['Bearer token-2'],
      undefined,
    ])
  })

  test('a response and its clone say that they were redirected, and where to', async () => {
    const direct = await play([ok], {})
    expect([direct?.redirected, direct?.url]).toEqual([false, start])
    const found = await play([away, ok], {})
    for (const each of [found?.clone().clone(), found])
      expect([each?.redirected, each?.url, await each?.text()]).toEqual([
        true,
        `http://127.0.0.1:${b}/away`,
        'answer',
      ])
  })

  test('headers of a body go with it, and a body that stays has its own', async () => {
    const form = new FormData()
    form.set('field', 'value')
    for (const [status, type] of [
      [303, undefined],
      [308, expect.stringMatching(/^multipart/)],
    ]) {
      await play([{ status: status as number, location: '/here' }, ok], { method: 'POST', body: form })
      expect(seen[1]?.headers['content-type']?.[0]).toEqual(type)
      expect(seen[1]?.request[3]).toBe(type === undefined ? '' : seen[0]?.request[3])
    }
  })

  test.each([
    ['a body that is a stream', { status: 307, location: '/here' }, 'the body is a stream'],
    ['data:', { status: 303, location: 'data:text/plain,x' }, 'expected a URL with http or https'],
    ['no URL', { status: 303, location: 'http://[' }, 'expected a URL with http or https'],
    ['a user', { status: 303, location: 'http://user@{a}/' }, 'expected a URL without a user'],
  ])('%s is an error', async (_what, answer, message) => {
    line = { answers: [answer] }
    seen = []
    const body = new Blob(['once']).stream()
    const sent = credentialFetch(issuer(), options)(start, {
      method: 'POST',
      body,
      duplex: 'half',
    } as RequestInit)
    await expect(sent).rejects.toThrow(message)
    await expect(sent).rejects.toBeInstanceOf(TypeError)
    expect(seen).toHaveLength(1)
  })

  test('a location in UTF-8 is read as such', async () => {
    await play([{ status: 302, location: Buffer.from('/\u00e9').toString('latin1') }, ok], {})
    expect(seen.map(({ path }) => path)).toEqual(['/start', '/%C3%A9'])
  })
})
