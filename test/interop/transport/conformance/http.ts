/**
 * The service over HTTP, on a server as the sidecar's HTTP listener has it, with TLS too.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { HttpReply } from '../../../../sidecar/base/http/exchange.ts'
import { HttpRoutes } from '../../../../sidecar/base/http/http-routes.ts'
import { originForm } from '../../../../sidecar/base/net/http-request.ts'
import { Reports } from '../../../../sidecar/base/net/reports.ts'
import { Turns } from '../../../../sidecar/base/turns.ts'
import { Bounds } from '../../../../sidecar/http/bounds.ts'
import { ContractRoutes } from '../../../../sidecar/http/contract-routes.ts'
import { Dispatcher } from '../../../../sidecar/http/dispatcher.ts'
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
  const bounds = new Bounds(new Reports(() => {}))
  const served = new HttpRoutes()
  const fail = (_request: unknown, reply: HttpReply) => reply.code(500).send()
  const dispatcher = new Dispatcher(served, {
    ...{ bounds, urlOf: originForm, idOf: () => '', fieldsOf: () => [], addressOf: () => undefined },
    admit: (request, reply) => bounds.problem(request, reply) === undefined,
    // As the sidecar's server answers what no route does.
    unknown: ({ method }, reply) => reply.code(method === 'POST' ? 404 : 405).send(),
    ...{ unreadable: fail, leave: fail, fail: (_error, request, reply) => fail(request, reply) },
  })
  const server = secure?.create(dispatcher.begin) ?? createServer(dispatcher.begin)
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
  routes.addTo(served, { mayLast: (request) => secure?.letLast(request) })
  const { port } = await bounds.listen(server, '127.0.0.1:0')
  return port
}
