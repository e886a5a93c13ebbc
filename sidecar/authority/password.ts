/** Passwords: argon2id outside the event loop, with a limit on how many hashes run and how many wait. */
import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import pLimit from 'p-limit'
import { callError } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'
import { PASSWORD_COST } from './password-cost.ts'

const TAG_LENGTH = 32
const deriveTag: (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer> = promisify(argon2)

/** Length of the longest password that is accepted, in characters. */
export const PASSWORD_LENGTH_MAX = 1024

export interface PasswordLimits {
  /** How many hashes are computed at the same time. */
  readonly concurrent: number
  /** How many hashes may wait. A further call is refused with `RESOURCE_EXHAUSTED`. */
  readonly waiting: number
}

/** Hashes passwords to PHC strings, and verifies passwords against them. */
export class Passwords {
  readonly #limits: PasswordLimits
  readonly #limit: ReturnType<typeof pLimit>

  constructor(limits: PasswordLimits) {
    this.#limits = limits
    this.#limit = pLimit(limits.concurrent)
  }

  /** Returns the PHC string to store for a password. */
  async hash(password: string): Promise<string> {
    const nonce = randomBytes(16)
    return phcString(nonce, await this.#derive(password, nonce, PASSWORD_COST))
  }

  /** Whether the password matches the hash. Without a hash the answer is no, after the same time. */
  async verify(password: Secret, hash: string | undefined): Promise<boolean> {
    const { parameters, nonce, tag } = parse(hash ?? PLACEHOLDER_HASH)
    const derived = await this.#derive(password.reveal(), nonce, parameters)
    return timingSafeEqual(derived, tag) && hash !== undefined
  }

  /** Whether the hash was made with other parameters than today's. */
  isOutdated(hash: string): boolean {
    const { parameters, tag } = parse(hash)
    return (
      tag.length !== TAG_LENGTH ||
      parameters.memory !== PASSWORD_COST.memory ||
      parameters.passes !== PASSWORD_COST.passes ||
      parameters.parallelism !== PASSWORD_COST.parallelism
    )
  }

  #derive(password: string, nonce: Buffer, parameters: typeof PASSWORD_COST): Promise<Buffer> {
    if (this.#limit.pendingCount >= this.#limits.waiting) throw callError('PASSWORD_CHECKS_EXHAUSTED', {})
    return this.#limit(() =>
      deriveTag('argon2id', { message: password, nonce, ...parameters, tagLength: TAG_LENGTH }),
    )
  }
}

/**
 * Makes a password of 144 random bits. It contains no characters that a shell or a URL would change, and never begins with
 * `-`, which a command would take for an option.
 */
export function newPassword(): string {
  for (;;) {
    const password = randomBytes(18).toString('base64url')
    if (!password.startsWith('-')) return password
  }
}

function phcString(nonce: Buffer, tag: Buffer): string {
  const { memory, passes, parallelism } = PASSWORD_COST
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`
}

/** Replaces the hash of an unknown user, so that the answer takes as long as for a known one. Its tag is random: no password has it. */
const PLACEHOLDER_HASH = phcString(randomBytes(16), randomBytes(TAG_LENGTH))

function parse(hash: string): { parameters: typeof PASSWORD_COST; nonce: Buffer; tag: Buffer } {
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
