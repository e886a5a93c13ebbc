/**
 * The service over HTTP, on a server as the sidecar's HTTP listener has it: Fastify, and with TLS the
 * sidecar's own before it.
 */
import { readFileSync } from 'node:fs'
import Fastify, { type FastifyServerFactory } from 'fastify'
import { Reports } from '../../../../sidecar/base/net/reports.ts'
import { Turns } from '../../../../sidecar/base/turns.ts'
import { Bounds } from '../../../../sidecar/http/bounds.ts'
import { ContractRoutes } from '../../../../sidecar/http/contract-routes.ts'
import { SecureServers } from '../../../../sidecar/http/secure.ts'
import { ContractCalls } from '../../../../sidecar/transports/connect/contract-calls.ts'
import { Descriptors } from '../../../../sidecar/transports/connect/json-codec.ts'
import { DEFAULT_LIMITS } from '../../../../sidecar/transports/http2/limits.ts'
import { certificatesOf, DEFAULT_MESSAGE_BYTES, ownMethods, ownStatus } from './own.ts'
import type { Method, Wishes } from './service.ts'

const LIMITS = {
  headersMs: 5_000,
  requestMs: 10_000,
  checkIntervalMs: 1_000,
  keepAliveMs: 60_000,
  headerBytesMax: 65_536,
  requestsPerConnectionMax: 10_000,
  hstsDays: 365,
  connectionsMax: 1_000,
}

/** @param descriptors file with the descriptors of the suite @returns the port */
export async function serveOverHttp(
  methods: readonly Method[],
  { tls, maxMessageBytes = DEFAULT_MESSAGE_BYTES }: Wishes,
  descriptors: string,
): Promise<number> {
  const secure =
    tls &&
    new SecureServers(certificatesOf(tls), {
      ...LIMITS,
      refuse: (_code, connection) => connection.destroy(),
      answer: () => ({ status: 400, headers: {}, body: '' }),
    })
  const serverFactory: FastifyServerFactory | undefined = secure && ((handle) => secure.create(handle))
  const server = Fastify({ ...(serverFactory && { serverFactory }) })
  const bounds = new Bounds(new Reports(() => {}), server)
  server.addHook('onRequest', (request, reply, next) => {
    bounds.problem(request, reply)
    next()
  })
  const calls = new ContractCalls(ownMethods(methods), {
    maxMessageBytes,
    bounds: DEFAULT_LIMITS,
    descriptors: new Descriptors(() => [readFileSync(descriptors)]),
    turns: new Turns(),
    statusOf: ownStatus,
  })
  const routes = new ContractRoutes({
    calls,
    origins: [],
    traced: false,
    document: () => readFileSync(descriptors),
  })
  await routes.addTo(server, { mayLast: (request) => secure?.letLast(request) })
  // As the sidecar's server answers what no route does.
  server.setNotFoundHandler(({ method }, reply) => reply.code(method === 'POST' ? 404 : 405).send())
  const { port } = await bounds.listen(server, '127.0.0.1:0')
  return port
}
