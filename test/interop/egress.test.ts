/**
 * Egress before a real nginx with https: large bodies in both directions, clients that leave, a token that is
 * refused once.
 */
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { makeAuthority, makeCertificate } from '../support/interop/certificates.ts'
import { installNginx, type Nginx, startNginx } from '../support/interop/nginx.ts'
import { obtained } from '../support/interop/obtain.ts'
import { type Served, serve } from '../support/processes/processes.ts'
import { ask, egressConfig, type RouteWish } from '../support/sidecar/egress.ts'
import { eventually, freePort, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const GIGABYTE = 1024 ** 3
const MEGABYTE = 1024 ** 2

/** Takes long enough to be interrupted, and not longer than a sidecar waits for it. */
const MEDIUM = 50 * MEGABYTE

/** The most by which a process may grow while a gigabyte passes. */
const GROWTH_MAX = 100 * MEGABYTE

const nginxProgram = await obtained('nginx', installNginx)

describe.skipIf(!nginxProgram.ok).each([1, 2])('nginx behind egress, with %d workers', (workers) => {
  let nginx: Nginx
  let sidecar: Served & { readonly egress: string }
  const refusedTokens = new Set<string>()
  const tokens: string[] = []
  let refuseNext = false
  let received = 0
  let open = 0

  /** The server that gets the requests of nginx. */
  const backend = createServer(async (incoming, response) => {
    open++
    response.once('close', () => open--)
    const token = String(incoming.headers['x-auth-token'])
    tokens.push(token)
    if (refuseNext) refusedTokens.add(token)
    refuseNext = false
    if (refusedTokens.has(token)) return void response.writeHead(401).end()
    if (incoming.url === '/endless') return void pipeline(endless(), response).catch(() => {})
    if (incoming.url === '/echo') return void pipeline(incoming, response).catch(() => {})
    if (incoming.url === '/moved')
      return void response.writeHead(302, { location: 'https://elsewhere.example/' }).end()
    received = 0
    incoming.on('error', () => {})
    incoming.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    incoming.on('end', () => response.end(String(received)))
  })

  beforeAll(async () => {
    const folder = newFolder()
    const authority = await makeAuthority(folder, 'ours')
    const stranger = await makeAuthority(folder, 'theirs')
    const certificate = await makeCertificate(folder, 'target', authority)
    await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
    whenTheFileEnds(() => {
      backend.closeAllConnections()
      backend.close()
    })
    const program = nginxProgram.ok ? nginxProgram.value : ''
    const { port } = backend.address() as AddressInfo
    nginx = await startNginx(program, certificate, `127.0.0.1:${port}`, await freePort())
    mkdirSync(nginx.files, { recursive: true })
    for (const [name, length] of Object.entries({ large: GIGABYTE, medium: MEDIUM, small: 5 })) {
      writeFileSync(join(nginx.files, name), 'small')
      truncateSync(join(nginx.files, name), length)
    }
    const routes: RouteWish[] = [
      { path: '/ours/', url: nginx.url, ca: authority.certificate },
      { path: '/theirs/', url: nginx.url, ca: stranger.certificate },
      { path: '/public/', url: nginx.url },
      { path: '/name/', url: nginx.url.replace('127.0.0.1', 'localhost'), ca: authority.certificate },
    ]
    const { folder: data, config } = await egressConfig(routes)
    const served = await serve(['--data', data, '--config', config, '--workers', String(workers)])
    sidecar = { ...served, egress: (served.ready as unknown as { egress: string }).egress }
  })

  test('a certificate is asked of the target, of the configured authority and for its name', async () => {
    expect(await ask(sidecar.egress, '/ours/files/small')).toMatchObject({ status: 200, text: 'small' })
    for (const route of ['theirs', 'public', 'name'])
      expect(await ask(sidecar.egress, `/${route}/files/small`)).toMatchObject({
        status: 502,
        headers: { 'portcullis-reason': 'TARGET_TLS_FAILED' },
      })
  })

  test('a redirect of nginx comes back as it is', async () => {
    expect(await ask(sidecar.egress, '/ours/moved')).toMatchObject({
      status: 302,
      headers: { location: 'https://elsewhere.example/' },
    })
  })

  test('both directions flow at once', async () => {
    const [sending, response] = await opened('/ours/echo', { 'transfer-encoding': 'chunked' }, (out) =>
      out.write('one'),
    )
    expect(String((await once(response, 'data'))[0])).toBe('one')
    sending.write('two')
    expect(String((await once(response, 'data'))[0])).toBe('two')
    sending.end()
    await once(response.resume(), 'end')
  })

  /** With several workers each body still passes one of them. */
  const bytes = workers === 1 ? GIGABYTE : MEDIUM

  test(`${bytes} bytes down and as many up, without growth`, async () => {
    // From here on everything has been used once.
    await download('medium')
    await upload(MEDIUM)
    const before = memory()
    expect(await download(workers === 1 ? 'large' : 'medium')).toBe(bytes)
    expect(await upload(bytes)).toBe(String(bytes))
    expect(memory() - before).toBeLessThan(GROWTH_MAX * workers)
  })

  test('a client that reads nothing holds up the target, and takes no memory', async () => {
    await download('medium')
    const before = memory()
    const held = await Promise.all(Array.from({ length: 20 }, () => opened('/ours/endless')))
    await new Promise((resolve) => setTimeout(resolve, 500))
    const growth = memory() - before
    for (const [sending] of held) sending.destroy()
    expect(growth).toBeLessThan(GROWTH_MAX * workers)
    await eventually(() => open === 0)
  })

  test('clients that leave, with an answer or a request half way, leave nothing behind', async () => {
    await ask(sidecar.egress, '/ours/files/small')
    const before = sockets()
    for (let round = 0; round < 10; round++) {
      const downloads = Array.from({ length: 5 }, () => opened('/ours/endless'))
      const uploads = Array.from({ length: 5 }, () => {
        const sending = outgoing('/ours/sink', { 'transfer-encoding': 'chunked' })
        sending.write(Buffer.alloc(100_000))
        return sending
      })
      for (const [sending] of await Promise.all(downloads)) sending.destroy()
      await eventually(() => open > 0)
      for (const sending of uploads) sending.destroy()
      await eventually(() => open === 0)
    }
    // A few idle connections to nginx are kept for the next requests.
    await eventually(() => sockets() <= before + 10)
    expect(await ask(sidecar.egress, '/ours/files/small')).toMatchObject({ status: 200 })
  })

  test('a token that nginx’s backend refuses once is replaced, and the request arrives', async () => {
    tokens.length = 0
    refuseNext = true
    expect(await ask(sidecar.egress, '/ours/sink', { body: 'body' })).toMatchObject({
      status: 200,
      text: '4',
    })
    expect(tokens).toHaveLength(2)
    expect(new Set(tokens).size).toBe(2)
    expect(readFileSync(nginx.accessLog, 'utf8')).toMatch(/POST \/sink 401\nPOST \/sink 200\n$/)
  })

  test('a stopping sidecar lets what flows end', async () => {
    const [, response] = await opened('/ours/files/medium')
    const ended = sidecar.stop()
    expect(await lengthOf(response)).toBe(MEDIUM)
    expect(await ended).toMatchObject({ code: 0 })
  })

  const download = async (name: string) => lengthOf((await opened(`/ours/files/${name}`))[1])

  async function upload(bytes: number): Promise<string> {
    const sending = outgoing('/ours/sink', { 'content-length': String(bytes) })
    const answered = once(sending, 'response') as Promise<[IncomingMessage]>
    await pipeline(Readable.from(chunks(bytes)), sending)
    const [response] = await answered
    return String(await Array.fromAsync(response.setEncoding('utf8') as AsyncIterable<string>))
  }

  function outgoing(path: string, headers: Record<string, string> = {}) {
    const [host, port] = sidecar.egress.split(':')
    const method = Object.keys(headers).length > 0 ? 'POST' : 'GET'
    return request({ host, port, path, method, headers, agent: false }).on('error', () => {})
  }

  async function opened(
    path: string,
    headers: Record<string, string> = {},
    write: (sending: ReturnType<typeof request>) => void = (sending) => sending.end(),
  ) {
    const sending = outgoing(path, headers)
    write(sending)
    const [response] = (await once(sending, 'response')) as [IncomingMessage]
    response.on('error', () => {})
    return [sending, response] as const
  }

  /** Resident memory of the sidecar with its workers. */
  const memory = () =>
    processes().reduce<number>((total, pid) => {
      const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
      return total + Number(kilobytes) * 1024
    }, 0)

  const sockets = () =>
    processes().reduce<number>((total, pid) => total + readdirSync(`/proc/${pid}/fd`).length, 0)

  const processes = () => {
    const { pid } = sidecar
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return [pid, ...children.split(' ').filter(Boolean)]
  }
})

async function lengthOf(response: IncomingMessage): Promise<number> {
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) length += chunk.length
  return length
}

function* chunks(bytes: number): Generator<Buffer> {
  const chunk = Buffer.alloc(64 * 1024)
  for (let left = bytes; left > 0; left -= chunk.length) yield chunk
}

function endless(): Readable {
  const chunk = Buffer.alloc(64 * 1024)
  return new Readable({
    read() {
      this.push(chunk)
    },
  })
}
