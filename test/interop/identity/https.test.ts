/**
 * https on the HTTP listener: HTTP/1.1 and HTTP/2 get the same answers, on every address and with workers.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { PREFACE } from '../../support/http2/frames.ts'
import { loginBody, TOKENS } from '../../support/identity/identity.ts'
import {
  askOn,
  exchange,
  exchangePlain,
  http2,
  inHttp1,
  inHttp2,
  newCertificateFiles,
  other,
  PROTOCOLS,
  passwordIn,
  portOf,
  prepareHttps,
  type Question,
  runHttps,
  trust,
} from '../../support/interop/https.ts'
import { ownAddress } from '../../support/interop/own-address.ts'
import { serve } from '../../support/processes/processes.ts'
import type { SidecarOptions } from '../../support/sidecar/sidecar.ts'
import { eventually, newFolder } from '../../support/suite/resources.ts'

prepareHttps()

describe.skipIf(!inject('openssl').ok)('https', () => {
  let running: Awaited<ReturnType<typeof runHttps>>
  let password: string
  beforeAll(async () => {
    running = await runHttps()
    password = await passwordIn(running)
  })
  afterEach(async () => {
    for (const [, ask] of PROTOCOLS) expect((await ask(running.http, { path: '/healthz' })).status).toBe(200)
    expect(running.logLines.filter((line) => JSON.parse(line).level >= 50)).toEqual([])
  })

  test.each(PROTOCOLS)('logs in, validates and revokes over %s', async (_protocol, ask) => {
    const { http } = running
    const body = JSON.stringify(loginBody({ password }))
    const headers = { 'content-type': 'application/json' }
    const issued = await ask(http, { method: 'POST', path: TOKENS, headers, body })
    expect(issued).toMatchObject({ status: 201, headers: { 'cache-control': 'no-store' } })
    expect(issued.json.token.catalog[0].endpoints[0].url).toBe(`https://${http}/identity/v3`)
    const token = String(issued.headers['x-subject-token'])
    const about = { 'x-auth-token': token, 'x-subject-token': token }
    expect((await ask(http, { path: `${TOKENS}?nocatalog`, headers: about })).status).toBe(200)
    const twice = { ...about, 'x-auth-token': [token, token] }
    expect((await ask(http, { path: TOKENS, headers: twice })).status).toBe(401)
    expect((await ask(http, { method: 'DELETE', path: TOKENS, headers: about })).status).toBe(204)
    expect((await ask(http, { path: TOKENS, headers: about })).status).toBe(401)
  })

  test('names of headers have capitals over HTTP/1.1 alone', async () => {
    const { http } = running
    const get = `GET http://${http}/healthz HTTP/1.1\r\nHost: ${http}\r\nConnection: close\r\n\r\n`
    const [head = ''] = (await exchange(http, get, 'http/1.1')).split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 200 .*\r\nX-Openstack-Request-Id: /s)
    expect(head).not.toMatch(/\r\n[a-z]/)
    expect((await inHttp2(http, { path: '/healthz' })).headers).toHaveProperty('x-openstack-request-id')
  })

  test.each(PROTOCOLS)(
    'refuses other hosts, origins, methods, paths and bodies over %s',
    async (_protocol, ask) => {
      const { http } = running
      const port = portOf(http)
      const host = ask === inHttp1 ? 'host' : ':authority'
      const rows: [question: Question, status: number][] = [
        [{ path: '/identity/v3', headers: { [host]: `localhost:${port}` } }, 200],
        [{ path: '/identity/v3', headers: { [host]: `evil.example:${port}` } }, 403],
        [{ path: '/identity/v3', headers: { [host]: '127.0.0.1' } }, 403],
        [{ path: '/identity/v3', headers: { origin: `https://${http}` } }, 403],
        [{ method: 'PUT', path: TOKENS }, 405],
        [{ path: '/nothing' }, 404],
        [{ path: '/%' }, 400],
        [{ method: 'POST', path: TOKENS, headers: { 'content-type': 'application/json' }, body: '{' }, 400],
        [{ method: 'POST', path: TOKENS, body: 'x'.repeat(114_689) }, 413],
      ]
      const found: number[] = []
      for (const [question] of rows) found.push((await ask(http, question)).status)
      expect(found).toEqual(rows.map(([, status]) => status))
    },
  )

  test('two names of the server that differ are refused over HTTP/2', async () => {
    const port = portOf(running.http)
    const asked = (headers: Record<string, string>) =>
      inHttp2(running.http, { path: '/identity/v3', headers }).then(({ status }) => status)
    expect(await asked({ ':authority': `127.0.0.1:${port}`, host: `localhost:${port}` })).toBe(403)
    expect(await asked({ ':authority': `127.0.0.1:${port}`, host: `127.0.0.1:${port}` })).toBe(200)
  })

  test.each(PROTOCOLS)(
    'browsers that come by a name use https alone for a year over %s',
    async (_protocol, ask) => {
      const of = async (flags: SidecarOptions['flags'], path: string, name?: string, method = 'GET') => {
        const { http } = await runHttps({ flags: { 'http.connect': true, ...flags } })
        const host = ask === inHttp1 ? 'host' : ':authority'
        const headers = { 'content-type': 'application/json', ...(name && { [host]: name }) }
        const body = method === 'POST' ? { body: '{}' } : {}
        return (await ask(http, { method, path, headers, ...body })).headers['strict-transport-security']
      }
      const named = { 'http.public_url': 'https://server.example' }
      const call = '/portcullis.v1.AuthorizationService/GetMatrix'
      expect([
        await of(named, '/identity/v3', 'server.example'),
        await of(named, '/nothing', 'server.example'),
        await of(named, '/%', 'server.example'),
        await of(named, '/healthz', 'evil.example'),
        await of(named, call, 'server.example', 'POST'),
      ]).toEqual(Array(5).fill('max-age=31536000'))
      expect(await of({ ...named, 'http.tls.hsts_days': 0 }, '/healthz', 'server.example')).toBe('max-age=0')
      // Of no use for an address, and the other servers of this machine are called `localhost`, too.
      expect([await of(named, '/healthz'), await of(named, '/healthz', 'localhost:443')]).toEqual([
        undefined,
        undefined,
      ])
    },
  )

  test.each([
    ['a request', 'GET /identity/v3 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a preface of HTTP/2', PREFACE.toString('latin1')],
    ['bytes that mean nothing', 'hello'],
  ])('%s without TLS gets an answer that says so', async (_what, sent) => {
    const received = await exchangePlain(running.http, sent)
    expect(received).toMatch(/^HTTP\/1.1 400 /)
    expect(received).toContain('expected https: this port speaks nothing else')
    expect(received).not.toMatch(/strict-transport-security/i)
  })

  test.each(['TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const)('%s', async (version) => {
    const outcome = await new Promise((resolve) => {
      const socket = connectTls({
        ...trust(),
        host: '127.0.0.1',
        port: portOf(running.http),
        minVersion: version,
        maxVersion: version,
        ciphers: 'DEFAULT@SECLEVEL=0',
      })
      socket.on('secureConnect', () => {
        resolve(socket.getProtocol())
        socket.destroy()
      })
      socket.on('error', () => resolve('refused'))
    })
    expect(outcome).toBe(version === 'TLSv1.1' ? 'refused' : version)
  })
})

describe.skipIf(!inject('openssl').ok)('the certificate of https', () => {
  const presented = (address: string) =>
    new Promise((resolve, reject) => {
      const socket = connectTls({ ...trust(), host: '127.0.0.1', port: portOf(address) }, () => {
        resolve(socket.getPeerCertificate().subject.CN)
        socket.destroy()
      })
      socket.on('error', reject)
    })

  test('changes without a restart, and open connections stay', async () => {
    const { http, sidecar, use, logLines } = await runHttps()
    const open = http2(http)
    expect((await askOn(open, { path: '/healthz' })).status).toBe(200)
    expect(await presented(http)).toBe('server')
    use(other)
    sidecar.reload()
    expect(await presented(http)).toBe('other')
    expect((await askOn(open, { path: '/healthz' })).status).toBe(200)
    const lines = logLines.map((line) => JSON.parse(line))
    expect(lines.filter(({ msg }) => msg === 'new TLS certificates are in force')).toEqual([
      expect.objectContaining({ listener: 'http', valid_until: expect.any(String) }),
    ])
    open.destroy()
  })

  test('stays in force where the changed files cannot be used', async () => {
    const { http, sidecar, files, logLines } = await runHttps()
    writeFileSync(files.key, '-----BEGIN')
    sidecar.reload()
    expect(await presented(http)).toBe('server')
    const lines = logLines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50)
    expect(lines).toEqual([
      expect.objectContaining({
        listener: 'http',
        problem: expect.stringMatching(/^http\.tls: .*server\.pem and .*server\.key cannot be used: /),
        msg: 'the TLS certificates cannot be used; the last good ones stay in force',
      }),
    ])
  })

  test('must be usable at the start', async () => {
    await expect(runHttps({ flags: { 'http.tls.key': '/nowhere' } })).rejects.toThrow(
      'http.tls.key: /nowhere cannot be read (ENOENT)',
    )
  })
})

describe.skipIf(!inject('openssl').ok || ownAddress === undefined)('https beyond this machine', () => {
  test.each(PROTOCOLS)('answers on an address of the network over %s', async (_protocol, ask) => {
    const { http } = await runHttps({ flags: { 'http.address': `${ownAddress}:0` } })
    const { json } = await ask(http, { path: '/identity/v3' })
    expect(json.version.links).toEqual([
      { rel: 'self', href: `https://${ownAddress}:${portOf(http)}/identity/v3/` },
    ])
  })

  test('answers on every address by the public URL', async () => {
    const flags = { 'http.address': '0.0.0.0:0' }
    await expect(runHttps({ flags })).rejects.toThrow(
      'http address 0.0.0.0:0: expected http.public_url, the URL that clients use',
    )
    const { http } = await runHttps({ flags: { ...flags, 'http.public_url': `https://${ownAddress}:8443` } })
    const address = `${ownAddress}:${portOf(http)}`
    for (const [, ask] of PROTOCOLS) {
      const host = ask === inHttp1 ? 'host' : ':authority'
      const headers = { [host]: `${ownAddress}:8443` }
      expect((await ask(address, { path: '/identity/v3', headers })).status).toBe(200)
      expect((await ask(address, { path: '/identity/v3' })).status).toBe(403)
    }
  })
})

describe.skipIf(!inject('openssl').ok)('a sidecar with https', () => {
  test('stops while connections are open', async () => {
    const { http, sidecar } = await runHttps({ flags: { 'http.address': 'localhost:0' } })
    const address = http.replace('localhost', '127.0.0.1')
    const session = http2(address)
    expect((await askOn(session, { path: '/healthz' })).status).toBe(200)
    const closed = Promise.all([
      new Promise((resolve) => session.once('close', resolve)),
      exchange(address, '', 'http/1.1'),
      exchangePlain(address, ''),
    ])
    await askOn(session, { path: '/healthz' })
    await sidecar.close()
    await closed
  })
})

describe.skipIf(!inject('openssl').ok)('https with 2 workers', () => {
  test('answers in each, follows the certificate, and stops', async () => {
    const folder = newFolder()
    const { files, use } = newCertificateFiles()
    const config = join(folder, 'portcullis.json')
    writeFileSync(config, JSON.stringify({ http: { tls: files } }))
    const flags = ['--http', '127.0.0.1:0', '--data', join(folder, 'data'), '--workers', '2']
    const running = await serve(['--config', config, ...flags])
    const { http } = running.ready
    for (let connection = 0; connection < 2; connection++)
      for (const [, ask] of PROTOCOLS) expect((await ask(http, { path: '/healthz' })).status).toBe(200)
    const plain = await exchangePlain(http, 'GET / HTTP/1.1\r\n\r\n')
    expect(plain).toContain('expected https: this port speaks nothing else')
    use(other)
    await eventually(() => running.stderr().split('new TLS certificates are in force').length === 3)
    const open = http2(http)
    expect((await askOn(open, { path: '/healthz' })).status).toBe(200)
    running.signal('SIGTERM')
    expect(await running.ended).toMatchObject({ code: 0 })
  })
})
