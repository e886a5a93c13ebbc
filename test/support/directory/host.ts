/** A sidecar as a process of its own, as one of several hosts or one of several processes of a host. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Client, connect } from '../../../sidecar/client/index.ts'

const launcher = fileURLToPath(new URL('../../../sidecar/portcullis.js', import.meta.url))

export interface Host {
  /** Where gRPC listens. */
  readonly address: string
  readonly client: Client
  readonly process: ChildProcess
  /** Everything that it printed on standard error, which is its log. */
  log(): string
  /** Ends it with SIGTERM; returns its exit code, or the signal that ended it. */
  stop(): Promise<number | NodeJS.Signals>
}

/**
 * Starts a sidecar and resolves when it is ready.
 *
 * @param data the data folder
 * @param variables of its environment, for example `PORTCULLIS_DIRECTORY_URL`
 * @throws Error with what it printed, where it does not start
 */
export async function startHost(
  data: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<Host> {
  const flags = ['serve', '--json', '--grpc', '127.0.0.1:0', '--http', 'off', '--data', data]
  const child = spawn(process.execPath, [launcher, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PORTCULLIS_LOG_LEVEL: 'trace', ...variables },
  })
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const ready = await Promise.race([
    once(createInterface(child.stdout), 'line') as Promise<[string]>,
    ended.then(() => undefined),
  ])
  if (ready === undefined) throw new Error(`the sidecar ended: ${log}`)
  const { grpc } = JSON.parse(ready[0]) as { grpc: string }
  const client = connect(grpc)
  return {
    address: grpc,
    client,
    process: child,
    log: () => log,
    stop: async () => {
      client.close()
      child.kill('SIGTERM')
      const [code, signal] = await ended
      return code ?? signal ?? 0
    },
  }
}
