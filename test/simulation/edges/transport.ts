/** In place of the transports of gRPC: the methods are on the simulated network. */
import type { StartTransport } from '../../../sidecar/transports/transport.ts'
import { network } from '../world/network.ts'
import { thisMachine } from '../world/time.ts'

export const startTransport: StartTransport = async (methods, { address, statusOf }) => {
  const machine = thisMachine()
  if (machine === undefined) throw new Error('a server runs on a machine')
  network.listen(address, { machine, methods, statusOf })
  return {
    address,
    close: async () => network.close(address),
  }
}
