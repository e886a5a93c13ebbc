/** A way to a sidecar for clients that come from another address of this machine. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { whenTheFileEnds } from '../suite/resources.ts'
import type { RunningSidecar } from './sidecar.ts'

/** @returns where a client reaches the sidecar as one from `localAddress` */
export async function relayFrom(
  localAddress: string,
  { address }: Pick<RunningSidecar, 'address'>,
): Promise<string> {
  const [host = '', port] = address.split(':')
  const relay = createServer((near) => {
    const far = connect({ host, port: Number(port), localAddress })
    near.pipe(far).on('error', () => near.destroy())
    far.pipe(near).on('error', () => far.destroy())
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  whenTheFileEnds(() => relay.close())
  return `127.0.0.1:${(relay.address() as AddressInfo).port}`
}
