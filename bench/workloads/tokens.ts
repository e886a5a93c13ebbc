/**
 * Tokens that are signed here with the sidecar's own key: any number of them, and the sidecar has seen none.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { IamClaims } from '../../sidecar/authority/iam-claims.ts'
import { IamTokenSigner } from '../../sidecar/authority/iam-token.ts'
import { KeyRing } from '../../sidecar/authority/keys.ts'
import { SIGNING_KEYS_FILE } from '../../sidecar/base/data-folder.ts'
import { CHECK_PATH, type GrpcLoad, type Workload } from '../harness/grpc.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import type { SidecarReady } from '../servers/start.ts'
import { checkQuestion, isAllowed } from './checks.ts'
import { loginOf } from './login.ts'

/** A data folder for one run. It is removed when the stack is disposed. */
export function newDataFolder(stack: AsyncDisposableStack): string {
  return join(temporaryFolder(stack), 'data')
}

/** Tokens of the demo's service user. Each has a unique id. */
export class SignedTokens {
  readonly #ring: KeyRing
  readonly #signer: IamTokenSigner
  readonly #claims: IamClaims
  #answerBytes = 0

  private constructor(ring: KeyRing, claims: IamClaims) {
    this.#ring = ring
    this.#signer = new IamTokenSigner(ring)
    this.#claims = claims
  }

  /**
   * Takes the key from the sidecar's data folder and the claims from a login.
   *
   * @throws Error if the sidecar denies such a token
   */
  static async of(dataFolder: string, ready: SidecarReady, load: GrpcLoad): Promise<SignedTokens> {
    const ring = new KeyRing(join(dataFolder, SIGNING_KEYS_FILE), Date.now(), { onRefused: () => {} })
    const login = loginOf(ready)
    const token = await login.overGrpc().finally(login.close)
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as IamClaims
    return new SignedTokens(ring, claims).#accepted(load)
  }

  /**
   * Tokens of a service user of another directory, which has the same account.
   *
   * @throws Error if its sidecar denies such a token
   */
  async heldBy(
    holder: Pick<IamClaims, 'sub' | 'name' | 'gen' | 'seq'>,
    load: GrpcLoad,
  ): Promise<SignedTokens> {
    return new SignedTokens(this.#ring, { ...this.#claims, ...holder }).#accepted(load)
  }

  get account(): string {
    return this.#claims.account
  }

  async #accepted(load: GrpcLoad): Promise<this> {
    const [answer] = await load.ask(CHECK_PATH, [this.#question()])
    if (answer === undefined || !isAllowed(answer)) throw new Error('a token that was signed here is denied')
    this.#answerBytes = answer.length
    return this
  }

  /** Length of the answer to a check of any of them. */
  get answerBytes(): number {
    return this.#answerBytes
  }

  /** Checks of a number of new tokens, one after the other. */
  workload(count: number): Workload {
    const questions = Array.from({ length: count }, () => this.#question())
    return { path: CHECK_PATH, questions, answerBytes: questions.map(() => this.#answerBytes) }
  }

  /** Checks a number of new tokens, a thousand at a time: this process need not hold them all. */
  async checkUnseen(load: GrpcLoad, count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1000) {
      const some = Math.min(left, 1000)
      await load.run(this.workload(some), some)
    }
  }

  close(): void {
    this.#ring.close()
  }

  #question(): Buffer {
    const token = this.#signer.sign({ ...this.#claims, jti: randomBytes(16).toString('base64url') })
    return checkQuestion({ api: 'iam', credentials: [['X-Auth-Token', token]] })
  }
}
