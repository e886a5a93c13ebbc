/** Tokens made here by the sidecar's own key, of which any number can be had without asking the sidecar for them. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type IamClaims, IamTokenSigner } from '../sidecar/authority/iam-token.ts'
import { KeyRing } from '../sidecar/authority/keys.ts'
import { SIGNING_KEYS_FILE } from '../sidecar/base/data-folder.ts'
import { checkRequest } from '../sidecar/client/values.ts'
import { CheckRequest, CheckResponse } from '../sidecar/gen/portcullis/v1/authorization.ts'
import { CHECK_PATH, type Load, type Workload } from './load.ts'
import { loginOf } from './login.ts'
import type { SidecarReady } from './server-process.ts'
import { temporaryFolder } from './temporary.ts'

/** A data folder for one run, gone with the stack. */
export function newDataFolder(stack: AsyncDisposableStack): string {
  return join(temporaryFolder(stack), 'data')
}

/** Tokens of the demo's service user, each with an id of its own. */
export class MadeTokens {
  readonly #ring: KeyRing
  readonly #signer: IamTokenSigner
  readonly #claims: IamClaims
  #answerBytes = 0

  private constructor(ring: KeyRing, claims: IamClaims) {
    this.#ring = ring
    this.#signer = new IamTokenSigner(ring)
    this.#claims = claims
  }

  /** Takes the key from the sidecar's data folder and the claims from a login. Rejects where the sidecar denies such a token. */
  static async of(dataFolder: string, ready: SidecarReady, load: Load): Promise<MadeTokens> {
    const ring = new KeyRing(join(dataFolder, SIGNING_KEYS_FILE), Date.now(), () => {})
    const login = loginOf(ready)
    const token = await login.overGrpc().finally(login.close)
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as IamClaims
    const tokens = new MadeTokens(ring, claims)
    const [answer] = await load.ask(CHECK_PATH, [questionOf(tokens.one())])
    if (answer === undefined || !CheckResponse.decode(answer).allowed)
      throw new Error('a token made here is not accepted')
    tokens.#answerBytes = answer.length
    return tokens
  }

  /** Length of the answer to a check of any of them. */
  get answerBytes(): number {
    return this.#answerBytes
  }

  one(): string {
    return this.#signer.sign({ ...this.#claims, jti: randomBytes(16).toString('base64url') })
  }

  /** Checks of so many tokens that nobody has seen, in turn. */
  workload(count: number): Workload {
    const questions = Array.from({ length: count }, () => questionOf(this.one()))
    return { path: CHECK_PATH, questions, answerBytes: questions.map(() => this.#answerBytes) }
  }

  /** Asks about so many tokens that nobody has seen; a thousand at a time, so that this process need not hold them all. */
  async askUnseen(load: Load, count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1000) {
      const some = Math.min(left, 1000)
      await load.run(this.workload(some), some)
    }
  }

  close(): void {
    this.#ring.close()
  }
}

function questionOf(token: string): Buffer {
  const request = checkRequest({ api: 'iam', credentials: [['X-Auth-Token', token]] })
  return Buffer.from(CheckRequest.encode(request).finish())
}
