/** https: what limits a client of HTTP/1.1 limits one of HTTP/2 too. */
import { connect as connectHttp2 } from 'node:http2'
import { connect as connectPlain } from 'node:net'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { FRAME, frame, PREFACE } from '../../support/http2/frames.ts'
import { loginBody, TOKENS } from '../../support/identity/identity.ts'
import {
  askOn,
  exchange,
  exchangePlain,
  http2,
  inHttp1,
  inHttp2,
  PROTOCOLS,
  passwordIn,
  portOf,
  prepareHttps,
  runHttps,
  trust,
} from '../../support/interop/https.ts'
import { newFile, whenTheFileEnds } from '../../support/suite/resources.ts'

prepareHttps()

describe.skipIf(!inject('openssl').ok)('https does not wait for a client that', () => {
  const times = { http: { headersMs: 200, requestMs: 400, checkIntervalMs: 50 } }
  const lineOf = (address: string) => `POST ${TOKENS} HTTP/1.1\r\nHost: ${address}\r\n`
  let running: Awaited<ReturnType<typeof runHttps>>
  beforeAll(async () => {
    running = await runHttps({ times })
  })

  test('sends nothing', async () => {
    expect(await exchangePlain(running.http, '')).toBe('')
  })

  test('does not end the handshake', async () => {
    expect(await exchangePlain(running.http, '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03')).toBe('')
  })

  test('sends no request after the handshake', async () => {
    expect(await exchange(running.http, '', 'http/1.1')).toMatch(/^HTTP\/1.1 408 /)
    expect(await exchange(running.http, PREFACE, 'h2')).not.toBe('')
  })

  test('does not end its headers', async () => {
    expect(await exchange(running.http, lineOf(running.http), 'http/1.1')).toMatch(/^HTTP\/1.1 408 /)
    // A block of headers without END_HEADERS.
    const unfinished = frame(FRAME.headers, { stream: 1, payload: Buffer.of(0x82) })
    await exchange(running.http, Buffer.concat([PREFACE, unfinished]), 'h2')
  })

  test('asks nothing more', async () => {
    const idle = await runHttps({ times: { http: { keepAliveMs: 300, checkIntervalMs: 50 } } })
    const get = `GET /healthz HTTP/1.1\r\nHost: ${idle.http}\r\n\r\n`
    expect(await exchange(idle.http, get, 'http/1.1')).toMatch(/^HTTP\/1.1 200 /)
    const session = http2(idle.http)
    expect((await askOn(session, { path: '/healthz' })).status).toBe(200)
    // Pings do not count as requests.
    const pinging = setInterval(() => session.destroyed || session.ping(() => {}), 50)
    await new Promise((resolve) => session.once('close', resolve))
    clearInterval(pinging)
  })

  test('does not read its response', async () => {
    const services = Array.from({ length: 100 }, (_, index) => ({
      type: `type-${index}`,
      name: 'x'.repeat(200),
      url: `https://service.example/${index}`,
    }))
    const config = newFile(JSON.stringify({ http: { catalog: services } }), 'portcullis.json')
    const idle = await runHttps({ config, times: { http: { keepAliveMs: 300, checkIntervalMs: 50 } } })
    const body = JSON.stringify(loginBody({ password: await passwordIn(idle) }))
    const session = connectHttp2(`https://${idle.http}`, { ...trust(), settings: { initialWindowSize: 0 } })
    session.on('error', () => {})
    const stream = session.request({ ':method': 'POST', ':path': TOKENS })
    stream.on('error', () => {})
    stream.end(body)
    await new Promise((resolve) => session.once('close', resolve))
  })

  test('is one of more than 1,000', async () => {
    const crowd = await runHttps()
    const sockets = Array.from({ length: 1_001 }, () => connectPlain(portOf(crowd.http), '127.0.0.1'))
    for (const socket of sockets) {
      socket.on('error', () => {})
      whenTheFileEnds(() => void socket.destroy())
    }
    await Promise.race(sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve))))
    expect(sockets.filter(({ closed }) => closed)).toHaveLength(1)
    for (const socket of sockets) socket.destroy()
  })

  test('does not end its body', async () => {
    const post = `${lineOf(running.http)}Content-Length: 1000\r\n\r\n{"auth":`
    expect(await exchange(running.http, post, 'http/1.1')).toMatch(/^HTTP\/1.1 408 /)
    const session = http2(running.http)
    const stream = session.request({ ':method': 'POST', ':path': TOKENS })
    stream.write('{"auth":')
    const status = await new Promise((resolve) =>
      stream.on('response', (headers) => resolve(headers[':status'])),
    )
    expect(status).toBe(408)
    await new Promise((resolve) => stream.on('close', resolve).resume())
    expect((await askOn(session, { path: '/healthz' })).status).toBe(200)
    session.destroy()
    expect(running.logLines.filter((line) => JSON.parse(line).level >= 50)).toEqual([])
  })
})

describe.skipIf(!inject('openssl').ok)('over https', () => {
  test('headers that are too large are refused', async () => {
    const { http } = await runHttps()
    const large = { x: 'x'.repeat(17_000) }
    const ofHttp1 = await inHttp1(http, { path: '/healthz', headers: large })
    expect(ofHttp1.status).toBe(431)
    const ofHttp2 = await inHttp2(http, { path: '/healthz', headers: large })
    expect(ofHttp2).toMatchObject({ status: 431, json: ofHttp1.json })
    // Many small ones do not evade the limit.
    const many = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`x-${index}`, 'x'.repeat(200)]),
    )
    for (const [, ask] of PROTOCOLS)
      expect((await ask(http, { path: '/healthz', headers: many })).status).toBe(431)
  })

  test('at most 100 requests run at the same time on one connection of HTTP/2', async () => {
    const { http } = await runHttps()
    const session = http2(http)
    await new Promise((resolve) => session.once('remoteSettings', resolve))
    expect(session.remoteSettings).toMatchObject({ maxConcurrentStreams: 100, maxHeaderListSize: 16_384 })
    const all = await Promise.all(Array.from({ length: 300 }, () => askOn(session, { path: '/healthz' })))
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 200))
    session.destroy()
  })

  test('ends a connection of HTTP/2 after 10,000 requests', async () => {
    const { http } = await runHttps()
    const session = http2(http)
    const goneAway = new Promise((resolve) => session.once('goaway', resolve))
    let answered = 0
    const ask = async () => {
      while (answered < 10_000) {
        answered++
        expect((await askOn(session, { path: '/nothing' })).status).toBe(404)
      }
    }
    await Promise.all(Array.from({ length: 50 }, ask))
    expect(await goneAway).toBe(0)
  })
})
