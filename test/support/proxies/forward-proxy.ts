/** A proxy as companies have one, which the environment of a program names. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { whenTheFileEnds } from '../suite/resources.ts'

export interface ForwardProxy {
  /** The environment of a program, with every variable by which a proxy is named. */
  readonly environment: Readonly<Record<string, string>>
  /** The first line of each request so far: `CONNECT HOST:PORT HTTP/1.1`. */
  readonly seen: string[]
  /** Everything that clients sent, as it arrived. */
  sent(): string
  /** Begins anew. */
  forget(): void
}

/** @param hosts names that it knows, all of them on this machine */
export async function startForwardProxy(hosts: readonly string[] = []): Promise<ForwardProxy> {
  const seen: string[] = []
  let sent = ''
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    sockets.add(near.on('error', () => {}))
    near.on('data', (bytes) => {
      sent += bytes.toString('latin1')
    })
    near.once('data', (bytes) => {
      const [line = ''] = bytes.toString('latin1').split('\r\n')
      seen.push(line)
      const [, host = '', port] = /^CONNECT (.+):(\d+) HTTP\/1\.1$/.exec(line) ?? []
      if (port === undefined) return near.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
      const far = connect(Number(port), hosts.includes(host) ? '127.0.0.1' : host.replace(/^\[(.*)\]$/, '$1'))
      sockets.add(far.on('error', () => near.destroy()))
      far.once('connect', () => {
        near.write('HTTP/1.1 200 Connection established\r\n\r\n')
        near.pipe(far).pipe(near)
      })
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  whenTheFileEnds(() => {
    server.close()
    for (const each of sockets) each.destroy()
  })
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const forget = () => {
    seen.length = 0
    sent = ''
  }
  return { environment: environmentWith(address), seen, sent: () => sent, forget }
}

function environmentWith(address: string): Readonly<Record<string, string>> {
  const names = ['grpc_proxy', 'https_proxy', 'http_proxy', 'all_proxy']
  return {
    ...Object.fromEntries(
      [...names, ...names.map((name) => name.toUpperCase())].map((name) => [name, `http://${address}`]),
    ),
    // Of Node, which reads the others with it; of grpc-java; and of the core of gRPC.
    NODE_USE_ENV_PROXY: '1',
    GRPC_PROXY_EXP: address,
    GRPC_ADDRESS_HTTP_PROXY: address,
    GRPC_ADDRESS_HTTP_PROXY_ENABLED_ADDRESSES: '127.0.0.0/8, ::1/128',
  }
}
