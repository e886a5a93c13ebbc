/** Who may do more than use their own credential: callers, each known by a caller token. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { callError } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'

/** Who is known by a caller token. */
export interface Caller {
  readonly name: string
  /** Names of the profiles that the caller may use. */
  readonly profiles: ReadonlySet<string>
  /** Whether the caller has administrator rights over everything. */
  readonly operator: boolean
}

/** Finds callers by their token. */
export class Callers {
  readonly #known: readonly { readonly digest: Buffer; readonly caller: Caller }[]

  constructor(callers: readonly { readonly token: Secret; readonly caller: Caller }[]) {
    this.#known = callers.map(({ token, caller }) => ({ digest: digestOf(token.reveal()), caller }))
  }

  /** The caller whose token an `authorization` value has. No value: `undefined`. @throws CallError where the token is unknown */
  find(authorization: readonly string[]): Caller | undefined {
    const [value] = authorization
    if (value === undefined) return undefined
    const token = /^Bearer ([\x21-\x7e]+)$/i.exec(value)?.[1]
    if (authorization.length === 1 && token !== undefined) {
      const digest = digestOf(token)
      for (const { digest: known, caller } of this.#known) if (timingSafeEqual(digest, known)) return caller
    }
    throw callError('CALLER_TOKEN_INVALID', {})
  }
}

/** Digests are of one length, which `timingSafeEqual` asks for. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
