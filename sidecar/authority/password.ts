/** Passwords: argon2id off the event loop, with a bound on how many run at once and how many wait. */
import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import pLimit from 'p-limit'
import { callError } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'

/** OWASP's second choice for argon2id: 19 MiB, 2 passes, 1 lane. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1 }
const TAG_LENGTH = 32
const deriveTag: (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer> = promisify(argon2)

/** Longest password that is looked at, in characters. */
export const PASSWORD_LENGTH_MAX = 1024

export interface PasswordLimits {
  /** How many derivations run at once. */
  readonly concurrent: number
  /** How many wait; beyond that a call is refused with `RESOURCE_EXHAUSTED`. */
  readonly waiting: number
}

/** Hashes and verifies passwords as PHC strings. */
export class Passwords {
  readonly #limits: PasswordLimits
  readonly #limit: ReturnType<typeof pLimit>
  /** Stands in for the hash of a user who does not exist, so that the answer takes as long. */
  readonly #nobody: Promise<string>

  constructor(limits: PasswordLimits) {
    this.#limits = limits
    this.#limit = pLimit(limits.concurrent)
    this.#nobody = this.hash(randomBytes(32).toString('base64url'))
  }

  /** The PHC string to store for a password. */
  async hash(password: string): Promise<string> {
    const nonce = randomBytes(16)
    const tag = await this.#derive(password, nonce, PARAMETERS)
    const { memory, passes, parallelism } = PARAMETERS
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`
  }

  /** Whether the password is the one behind the hash. Without a hash it costs the same, and the answer is no. */
  async verify(password: Secret, hash: string | undefined): Promise<boolean> {
    const { parameters, nonce, tag } = parse(hash ?? (await this.#nobody))
    const derived = await this.#derive(password.reveal(), nonce, parameters)
    return timingSafeEqual(derived, tag) && hash !== undefined
  }

  /** Whether a password was hashed with other parameters than those of today. */
  isOutdated(hash: string): boolean {
    const { parameters, tag } = parse(hash)
    return (
      tag.length !== TAG_LENGTH ||
      parameters.memory !== PARAMETERS.memory ||
      parameters.passes !== PARAMETERS.passes ||
      parameters.parallelism !== PARAMETERS.parallelism
    )
  }

  #derive(password: string, nonce: Buffer, parameters: typeof PARAMETERS): Promise<Buffer> {
    if (this.#limit.pendingCount >= this.#limits.waiting) throw callError('PASSWORD_CHECKS_EXHAUSTED', {})
    return this.#limit(() =>
      deriveTag('argon2id', { message: password, nonce, ...parameters, tagLength: TAG_LENGTH }),
    )
  }
}

/** 144 random bits, without characters that a shell or a URL would change, and never like an option of a command. */
export function newPassword(): string {
  for (;;) {
    const password = randomBytes(18).toString('base64url')
    if (!password.startsWith('-')) return password
  }
}

function parse(hash: string): { parameters: typeof PARAMETERS; nonce: Buffer; tag: Buffer } {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(hash)
  if (parts === null) throw new Error('a stored password hash is not an argon2id PHC string')
  const [, memory, passes, parallelism, nonce = '', tag = ''] = parts
  return {
    parameters: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    nonce: Buffer.from(nonce, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
