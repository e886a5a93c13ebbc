/** The HTTP server: whether the process lives, and whether it answers. */
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { isLoopback, parseAddress } from '../address.ts'

export interface HttpServer {
  /** With the port that was bound. */
  readonly address: string
  /** From now on `/readyz` says 503. */
  stopBeingReady(): void
  close(): Promise<void>
}

/** Largest request body, in bytes: as much as Keystone takes. */
const BODY_BYTES_MAX = 114_688

/** @throws Error where the address is in use or can be reached from other machines */
export async function startHttpServer(address: string): Promise<HttpServer> {
  const parsed = parseAddress(address)
  if (parsed.type !== 'tcp' || !isLoopback(parsed.host))
    throw new Error(
      `http address ${address}: expected HOST:PORT of this machine (127.0.0.1, [::1] or localhost), or off`,
    )
  let ready = true
  const hosts = new Set<string>()
  const server = Fastify({ logger: false, bodyLimit: BODY_BYTES_MAX, requestTimeout: 10_000 })

  // A page in a browser on this machine can have its host name resolve to 127.0.0.1 and then ask here.
  server.addHook('onRequest', async (request, reply) => {
    if (!hosts.has(request.headers.host?.toLowerCase() ?? '') || request.headers.origin !== undefined)
      await reply
        .code(403)
        .send({ error: 'expected a request to this machine by its own name, and no Origin' })
  })
  server.get('/healthz', async () => ({ status: 'ok' }))
  server.get('/readyz', async (_request, reply) =>
    ready ? { status: 'ready' } : reply.code(503).send({ status: 'stopping' }),
  )
  server.setNotFoundHandler(async (_request, reply) =>
    reply.code(404).send({ error: 'no such path; expected /healthz or /readyz' }),
  )

  try {
    await server.listen({ host: parsed.host, port: parsed.port })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
      throw new Error(`http address ${address} is in use`)
    throw error
  }
  const { port } = server.server.address() as AddressInfo
  for (const name of ['127.0.0.1', 'localhost', '[::1]', bracketed(parsed.host)]) hosts.add(`${name}:${port}`)
  return {
    address: `${bracketed(parsed.host)}:${port}`,
    stopBeingReady: () => {
      ready = false
    },
    close: () => server.close(),
  }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
