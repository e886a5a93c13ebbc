/** A sidecar as a separate process, as one of several hosts or one of several processes of a host. */
import type { Client } from '../../../clients/typescript/index.ts'
import { serve } from '../processes/processes.ts'
import { connect } from '../sidecar/client.ts'
import { whenTheFileEnds } from '../suite/resources.ts'

export interface Host {
  /** Where gRPC listens. */
  readonly address: string
  /** Its data folder. */
  readonly data: string
  /** Where metrics are, if the variables ask for them. */
  readonly health: string | undefined
  readonly client: Client
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
  const { ready, stderr, stop } = await serve(['--data', data], {
    environment: { PORTCULLIS_LOG_LEVEL: 'trace', ...variables },
  })
  const client = connect(ready.grpc)
  whenTheFileEnds(() => client.close())
  return {
    address: ready.grpc,
    data,
    health: ready.health,
    client,
    log: stderr,
    stop: async () => {
      client.close()
      return (await stop()).code
    },
  }
}
