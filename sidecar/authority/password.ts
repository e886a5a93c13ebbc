/**
 * Passwords: argon2id outside the event loop. Hashes run a few at a time, in lanes, so that administration
 * and profiles never wait behind logins of others (docs/decisions/lanes.md).
 */
import { type Argon2Parameters, argon2, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { callError } from '../base/call-error.ts'
import { FairQueue, type Place } from '../base/fair-queue.ts'
import { randomText } from '../base/random-text.ts'
import type { Secret } from '../base/secret.ts'
import { PASSWORD_COST } from './password-cost.ts'
import { RecentPasswords } from './recent-passwords.ts'

const TAG_LENGTH = 32
const deriveTag: (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer> = promisify(argon2)

/** Length of the longest password that is accepted, in characters. */
export const PASSWORD_LENGTH_MAX = 1024

export interface PasswordLimits {
  /** How many hashes are computed at the same time. */
  readonly concurrent: number
  /** How many hashes may wait in each lane. Beyond that, calls are refused with `RESOURCE_EXHAUSTED`. */
  readonly waiting: number
  /** How long the result of a check is used again, in milliseconds; 0: each login is hashed. */
  readonly rememberMs: number
}

/**
 * The lanes of password hashing. They have the same weight, so each of them has its turn after at most three
 * others.
 *
 * - `profiles`: logins by profiles of the configuration.
 * - `administration`: hashes of new passwords.
 * - `proven`: logins of a user from a source where that user has logged in before.
 * - `logins`: any other login.
 */
const LANES = { profiles: 1, administration: 1, proven: 1, logins: 1 } as const

/** A lane of the logins, and the shares that take turns in it. */
export interface LoginPlace extends Place<Exclude<keyof typeof LANES, 'administration'>> {}

/** A password, and whose it is said to be. */
export interface PasswordClaim {
  readonly account: string
  readonly userName: string
  readonly password: Secret
  /** Whether a person chose it. Then it is not remembered. */
  readonly chosen?: boolean
}

/** Hashes passwords to PHC strings, and verifies passwords against them. */
export class Passwords {
  readonly #queue: FairQueue<keyof typeof LANES>
  readonly #recent: RecentPasswords

  constructor({ concurrent, waiting, rememberMs }: PasswordLimits) {
    this.#queue = new FairQueue({
      weights: LANES,
      concurrent,
      waiting,
      full: () => callError('PASSWORD_CHECKS_EXHAUSTED', {}),
    })
    this.#recent = new RecentPasswords(rememberMs, () => createSecretKey(randomBytes(32)))
  }

  /** How many wait, by lane. */
  get waiting(): Readonly<Record<string, number>> {
    return this.#queue.waiting
  }

  /**
   * Returns the PHC string to store for a password.
   *
   * @param principal who needs it: principals take turns
   */
  async hash(password: string, principal: string): Promise<string> {
    const nonce = randomBytes(16)
    const place = { lane: 'administration', shares: [principal] } as const
    return phcString(nonce, await this.#derive(place, password, nonce, PASSWORD_COST))
  }

  /** Whether the password matches the hash. Without a hash the answer is no, after the same time. */
  async verify(claim: PasswordClaim, hash: string | undefined, place: LoginPlace): Promise<boolean> {
    const password = claim.password.reveal()
    const check = async () => {
      const { parameters, nonce, tag } = parse(hash ?? PLACEHOLDER_HASH)
      return (
        timingSafeEqual(await this.#derive(place, password, nonce, parameters), tag) && hash !== undefined
      )
    }
    if (claim.chosen || !canBeMade(password)) return check()
    // The names are among it: a check for one unknown user must not answer for another one.
    const what = [claim.account, claim.userName, hash ?? '', password]
    return this.#recent.check(what, JSON.stringify([place.lane, place.shares[0]]), check)
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

  #derive(
    place: Place<keyof typeof LANES>,
    password: string,
    nonce: Buffer,
    parameters: typeof PASSWORD_COST,
  ): Promise<Buffer> {
    return this.#queue.run(place, () =>
      deriveTag('argon2id', { message: password, nonce, ...parameters, tagLength: TAG_LENGTH }),
    )
  }
}

/** Length of a password that Portcullis makes, in characters. */
const MADE_LENGTH = 24

/**
 * Whether a password has the form of those that Portcullis makes. A password of 144 random bits cannot be
 * guessed, so logins with such a one need no throttle; and passwords that can be guessed have another form.
 */
export function canBeMade(password: string): boolean {
  return password.length === MADE_LENGTH && /^\w[\w-]*$/.test(password)
}

/** Makes a password of 144 random bits. */
export function newPassword(): string {
  return randomText((MADE_LENGTH / 4) * 3)
}

function phcString(nonce: Buffer, tag: Buffer): string {
  const { memory, passes, parallelism } = PASSWORD_COST
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`
}

/**
 * Replaces the hash of an unknown user, so that the answer takes as long as for a known one. Its tag is
 * random: no password has it.
 */
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
