/** OPA as a server: the same policy and data as in process, asked over its REST API. */
import { ForeignServer, freeAddress } from '../harness/foreign.ts'
import { http1Request } from '../harness/http1.ts'
import { OPA_ENTRYPOINT, writeOpaData } from './opa.ts'
import type { Asked, Rule } from './peer.ts'

export const OPA_SERVER_CONFIGURED =
  'OPA: `opa run --server`, its data store optimised for reading, no decision log, only errors logged. Its REST API over HTTP/1.1 with 8 kept connections and one request in flight on each, which costs it half of what its HTTP/2 does. So the driver is not the gRPC driver but a lighter one, which favours OPA. Its Envoy plugin, which speaks gRPC, could not be obtained.'

export interface OpaServer {
  readonly server: ForeignServer
  /** Where HTTP listens. */
  readonly address: string
}

/** @param folder for its data */
export async function startOpa(opa: string, rules: readonly Rule[], folder: string): Promise<OpaServer> {
  const address = await freeAddress()
  const server = await ForeignServer.start({
    command: opa,
    args: [
      ...['run', '--server', '--addr', address],
      ...['--optimize-store-for-read-speed', '--skip-version-check', '--log-level', 'error'],
      ...['--shutdown-grace-period', '1'],
      ...writeOpaData(rules, folder),
    ],
    ready: async () => (await fetch(`http://${address}/health`)).ok,
  })
  return { server, address }
}

export function opaQuestion({ api, kind }: Asked): Buffer {
  const headers = { host: 'opa', 'content-type': 'application/json' }
  return http1Request('POST', `/v1/data/${OPA_ENTRYPOINT}`, headers, JSON.stringify({ input: { api, kind } }))
}

export function opaAnswer(body: Buffer): boolean {
  const { result } = JSON.parse(body.toString()) as { result?: unknown }
  return result === true
}
