/** In place of the HTTP server: the requests of its pages are on the simulated network. */
import type { HttpServer, HttpServices } from '../../../sidecar/http/http-server.ts'
import { network, type Panel } from '../world/network.ts'
import { thisMachine } from '../world/time.ts'

export async function startHttpServer(
  services: HttpServices,
  { address }: { readonly address: string },
): Promise<HttpServer> {
  const machine = thisMachine()
  if (machine === undefined) throw new Error('a server runs on a machine')
  network.servePanel(address, machine, services as unknown as Panel)
  return { address, reload: () => {}, close: async () => {} }
}
