/** The page at a sidecar: which files it serves, under which policy, and who may ask it. */
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { startIdentity } from '../support/identity.ts'
import { eventually, newFile } from '../support/resources.ts'

const ON = { 'http.console': true, 'http.connect': true }

describe.each(['sockets', 'grpc-js'])('with the shipped matrix, and gRPC on %s', async (transport) => {
  const { ask, port } = await startIdentity({ flags: { ...ON, 'grpc.transport': transport } })
  const own = `http://127.0.0.1:${port}`

  test('the page and all that it names are there, under a policy that lets nothing else run', async () => {
    const page = await ask({ path: '/console/' })
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(page.headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'$/,
    )
    expect(page.headers).toMatchObject({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
    const names = [...page.text.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map(([, name]) => name)
    expect(names).toHaveLength(2)
    for (const name of names) {
      const { status, headers } = await ask({ path: `/console/${name}` })
      expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable'])
      expect(headers['content-type']).toMatch(/^text\/(css|javascript); charset=utf-8$/)
    }
  })

  test('the rules are those in force, and are sent once to whoever keeps them', async () => {
    const { status, json, headers } = await ask({ path: '/console/rules.json' })
    expect([status, json]).toEqual([
      200,
      { matrix: supportMatrix, mode: 'resolved', verify: true, controlPanel: false },
    ])
    const again = await ask({
      path: '/console/rules.json',
      headers: { 'If-None-Match': String(headers.etag) },
    })
    expect([again.status, again.text]).toEqual([304, ''])
  })

  test('without its slash the page is elsewhere, because its links are relative', async () => {
    const { status, headers } = await ask({ path: '/console' })
    expect([status, headers.location]).toEqual([308, '/console/'])
  })

  test.each([
    'index.html',
    '..%2Findex.html',
    '..%2F..%2F..%2Fpackage.json',
    'main-AAAAAAAA.js',
    'main-AAAAAAAA.js%00',
  ])('no file but those of the page is there: %s', async (name) => {
    expect((await ask({ path: `/console/assets/${name}` })).status).toBe(404)
  })

  const check = (headers: Record<string, string>) =>
    ask({
      method: 'POST',
      path: '/portcullis.v1.AuthorizationService/Check',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ api: 'iam', credentials: { headers: [{ name: 'X-Auth-Token', value: 'x' }] } }),
    })

  test('the page may verify with this sidecar, and a page of elsewhere may not', async () => {
    expect(await check({ Origin: own })).toMatchObject({
      status: 200,
      json: { reason: 'REASON_CREDENTIAL_INVALID' },
    })
    for (const origin of [
      'http://127.0.0.1:1',
      'https://example.com',
      'null',
      `${own}.example.com`,
      `https://127.0.0.1:${port}`,
    ])
      expect((await check({ Origin: origin })).status, origin).toBe(403)
    // A browser sends the origin of the page when it loads the page's own script, too. Nothing else is for it.
    expect((await ask({ path: '/console/', headers: { Origin: own } })).status).toBe(200)
    for (const path of ['/console/', '/console/rules.json'])
      expect((await ask({ path, headers: { Origin: 'http://127.0.0.1:1' } })).status).toBe(403)
    expect((await ask({ path: '/identity/v3', headers: { Origin: own } })).status).toBe(403)
  })
})

test('it is off unless it is configured, and then nothing of it is there', async () => {
  const { ask, port } = await startIdentity({ flags: { 'http.connect': true } })
  for (const path of ['/console/', '/console/rules.json']) expect((await ask({ path })).status).toBe(404)
  const { status } = await ask({
    method: 'POST',
    path: '/portcullis.v1.AuthorizationService/Check',
    headers: { 'Content-Type': 'application/json', Origin: `http://127.0.0.1:${port}` },
    body: '{}',
  })
  expect(status).toBe(403)
})

test('without the contract over HTTP there is nothing to verify with', async () => {
  const { ask } = await startIdentity({ flags: { 'http.console': true } })
  expect((await ask({ path: '/console/rules.json' })).json).toMatchObject({ verify: false })
})

test('a matrix that is exchanged is the one that is shown; a file that is refused never is', async () => {
  const ours = (title: string) => JSON.stringify({ ...supportMatrix, title })
  const matrix = newFile(ours('first'), 'matrix.json')
  const { ask, running } = await startIdentity({ flags: { ...ON, matrix, strict: true } })
  const shown = async () => (await ask({ path: '/console/rules.json' })).json
  expect(await shown()).toMatchObject({ mode: 'strict', matrix: { title: 'first' } })
  writeFileSync(matrix, '{')
  running.sidecar.reload()
  expect(await shown()).toMatchObject({ matrix: { title: 'first' } })
  writeFileSync(matrix, ours('second'))
  running.sidecar.reload()
  await eventually(async () => expect(await shown()).toMatchObject({ matrix: { title: 'second' } }))
})
