/** The sidecar, as the agent asks it. */

import { hash } from 'node:crypto'
import {
  type CheckAnswer,
  type Client,
  type ClientOptions,
  connect,
  type IssuedToken,
} from '../../../clients/typescript/index.ts'
import { Secret } from '../../base/secret.ts'
import type { AgentConfig, AgentToken, TokenPurpose } from '../../config/agent-config.ts'

interface Connected {
  readonly client: Client
  readonly callerToken: Secret | undefined
  /** The files of TLS that it was opened with. */
  readonly files: string
}

export interface TokenSource {
  /** @param rejected a token that is no longer good, which must not be given again */
  issue(token: AgentToken, rejected: string | undefined): Promise<IssuedToken>
  /** Asks whether the token still opens what it is for. */
  check(token: AgentToken, issued: IssuedToken): Promise<Pick<CheckAnswer, 'allowed' | 'reason'>>
  close(): void
}

/**
 * A connection to the sidecar. The caller token and the files of TLS are read for each token, because they
 * may have been replaced.
 */
export class SidecarTokens implements TokenSource {
  readonly #address: string
  readonly #config: Pick<AgentConfig, 'callerTokenFile' | 'deadlineMs'>
  readonly #readToken: (path: string) => string
  readonly #readTls: () => ClientOptions['tls'] | undefined
  #client: Connected | undefined

  /**
   * @param readToken reads a token from the first line of a file
   * @param readTls reads the files of TLS; `undefined`: the connection is in plaintext
   */
  constructor(
    address: string,
    config: Pick<AgentConfig, 'callerTokenFile' | 'deadlineMs'>,
    readToken: (path: string) => string,
    readTls: () => ClientOptions['tls'] | undefined,
  ) {
    this.#address = address
    this.#config = config
    this.#readToken = readToken
    this.#readTls = readTls
  }

  async issue({ profile, purpose, place }: AgentToken, rejected: string | undefined): Promise<IssuedToken> {
    return this.#connected().issue({
      ...{ profile, ...purpose },
      ...(place !== undefined && { place }),
      ...(rejected !== undefined && { rejected }),
    })
  }

  async check({ purpose }: AgentToken, { header, headerValue, kind }: IssuedToken): Promise<CheckAnswer> {
    const client = this.#connected()
    return client.check({
      api: await apiFor(client, purpose, kind),
      credentials: [[header, headerValue]],
    })
  }

  close(): void {
    this.#client?.client.close()
    this.#client = undefined
  }

  #connected(): Client {
    const { callerTokenFile, deadlineMs } = this.#config
    const callerToken = callerTokenFile === undefined ? undefined : this.#readToken(callerTokenFile)
    const tls = this.#readTls()
    const files = filesOf(tls)
    const { client: open } = this.#client ?? {}
    if (
      open === undefined ||
      this.#client?.callerToken?.reveal() !== callerToken ||
      this.#client?.files !== files
    ) {
      this.close()
      const client = connect(this.#address, {
        deadlineMs,
        ...(callerToken !== undefined && { callerToken }),
        ...(tls !== undefined && { tls }),
      })
      this.#client = {
        ...{ client, files },
        callerToken: callerToken === undefined ? undefined : new Secret(callerToken),
      }
    }
    return this.#client.client
  }
}

/** A digest of the files, so that no key is kept. */
function filesOf(tls: ClientOptions['tls'] | undefined): string {
  const { ca, certificate, key } = tls ?? {}
  return [ca, certificate, key].map((file) => (file === undefined ? '' : hash('sha256', file))).join(' ')
}

/** An API that the token is for; where it is for a scope, any that takes its kind. */
async function apiFor(client: Client, purpose: TokenPurpose, kind: string): Promise<string> {
  if ('apis' in purpose) return purpose.apis[0] ?? ''
  const { apis } = await client.getMatrix()
  return apis.find(({ accepted }) => accepted.includes(kind))?.id ?? ''
}
