/** The sidecar, as the agent asks it. */

import {
  type CheckAnswer,
  type Client,
  connect,
  type IssuedToken,
} from '../../../clients/typescript/index.ts'
import { Secret } from '../../base/secret.ts'
import type { AgentConfig, AgentToken, TokenPurpose } from '../../config/agent.ts'

export interface TokenSource {
  /** @param rejected a token that is no longer good, which must not be given again */
  issue(token: AgentToken, rejected: string | undefined): Promise<IssuedToken>
  /** Asks whether the token still opens what it is for. */
  check(token: AgentToken, issued: IssuedToken): Promise<Pick<CheckAnswer, 'allowed' | 'reason'>>
  close(): void
}

/**
 * A connection to the sidecar. The caller token is read for each token, because it may have been replaced.
 */
export class SidecarTokens implements TokenSource {
  readonly #address: string
  readonly #config: Pick<AgentConfig, 'callerTokenFile' | 'deadlineMs'>
  readonly #readToken: (path: string) => string
  #client: { readonly client: Client; readonly callerToken: Secret | undefined } | undefined

  /** @param readToken reads a token from the first line of a file */
  constructor(
    address: string,
    config: Pick<AgentConfig, 'callerTokenFile' | 'deadlineMs'>,
    readToken: (path: string) => string,
  ) {
    this.#address = address
    this.#config = config
    this.#readToken = readToken
  }

  async issue({ profile, purpose }: AgentToken, rejected: string | undefined): Promise<IssuedToken> {
    return this.#connected().issue({ profile, ...purpose, ...(rejected !== undefined && { rejected }) })
  }

  async check({ purpose }: AgentToken, { header, value, kind }: IssuedToken): Promise<CheckAnswer> {
    const client = this.#connected()
    return client.check({ api: await apiFor(client, purpose, kind), credentials: [[header, value]] })
  }

  close(): void {
    this.#client?.client.close()
    this.#client = undefined
  }

  #connected(): Client {
    const { callerTokenFile, deadlineMs } = this.#config
    const callerToken = callerTokenFile === undefined ? undefined : this.#readToken(callerTokenFile)
    if (this.#client === undefined || this.#client.callerToken?.reveal() !== callerToken) {
      this.close()
      const client = connect(this.#address, { deadlineMs, ...(callerToken !== undefined && { callerToken }) })
      this.#client = { client, callerToken: callerToken === undefined ? undefined : new Secret(callerToken) }
    }
    return this.#client.client
  }
}

/** An API that the token is for; where it is for a scope, any that takes its kind. */
async function apiFor(client: Client, purpose: TokenPurpose, kind: string): Promise<string> {
  if ('apis' in purpose) return purpose.apis[0] ?? ''
  const { apis } = await client.getMatrix()
  return apis.find(({ accepted }) => accepted.includes(kind))?.id ?? ''
}
