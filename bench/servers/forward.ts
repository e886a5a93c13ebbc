/**
 * The least that forwarding can cost with the same library: each request goes to one target by `dispatch` of
 * undici, and bodies are streamed. No path is read, no caller is known, no credential is added, and of the
 * headers only those of the connection are left out.
 *
 *     node bench/servers/forward.ts http://127.0.0.1:PORT
 */
import { createServer, type ServerResponse } from 'node:http'
import { type Dispatcher, Pool } from 'undici'
import { listening, runProgram, type Served } from './served.ts'

const OF_THE_CONNECTION: ReadonlySet<string> = new Set(['host', 'connection'])

class Forwarding implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#response.on('drain', () => controller.resume())
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string>,
  ) {
    this.#response.writeHead(status, headers)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#response.write(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    this.#response.end()
  }

  onResponseError(): void {
    this.#response.destroy()
  }
}

export async function serve(target: string): Promise<Served> {
  const pool = new Pool(target, { connections: 256, pipelining: 1, allowH2: false })
  const server = createServer((request, response) => {
    const { method = '', url: path = '', rawHeaders, headers } = request
    const forwarded = rawHeaders.filter(
      (_, index) => !OF_THE_CONNECTION.has((rawHeaders[index - (index % 2)] ?? '').toLowerCase()),
    )
    const body = headers['content-length'] === undefined ? null : request
    pool.dispatch(
      { path, method: method as Dispatcher.HttpMethod, headers: forwarded, body },
      new Forwarding(response),
    )
  })
  const stop = () => {
    server.close().closeAllConnections()
    void pool.destroy()
  }
  return { ready: { http: await listening(server) }, stop }
}

if (import.meta.main) await runProgram(serve)
