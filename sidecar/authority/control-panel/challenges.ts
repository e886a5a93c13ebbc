/**
 * Challenges of passkeys that are stored nowhere while they are open, so that strangers can ask for any
 * number of them. Each says what it is for and when it ends, under a key of ours. Answered ones are stored
 * until they end: each is answered once.
 */
import { hash, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { TimeLimit } from '../../base/time-limit.ts'
import { derivedKey, tagOf } from './sealed.ts'

/** How long a challenge can be answered. */
export const CHALLENGE_LIMIT = new TimeLimit(5 * 60_000)

/**
 * The purpose of the answer: log in, confirm that the user is there, or add a passkey. A challenge to log in
 * belongs to no session, each other one to the session that asked for it.
 */
export type ChallengeFor =
  | { readonly purpose: 'login' }
  | { readonly purpose: 'confirm' | 'add'; readonly session: string }

/** A challenge that was answered. */
export interface AnsweredChallenge {
  /** SHA-256. */
  readonly hash: Buffer
  /** Milliseconds since the epoch. */
  readonly endsAtMs: number
}

const RANDOM_LENGTH = 16
const END_LENGTH = 8
const TAG_LENGTH = 32

export class Challenges {
  readonly #key: KeyObject

  constructor(pepper: KeyObject) {
    this.#key = derivedKey(pepper, 'passkey challenges')
  }

  create(what: ChallengeFor, nowMs: number): Buffer {
    const end = Buffer.alloc(END_LENGTH)
    end.writeDoubleBE(CHALLENGE_LIMIT.endOf(nowMs))
    const body = Buffer.concat([randomBytes(RANDOM_LENGTH), end])
    return Buffer.concat([body, this.#tag(body, what)])
  }

  /** `undefined`: we did not make it, or for something else, or it has ended. */
  answered(text: string, what: ChallengeFor, nowMs: number): AnsweredChallenge | undefined {
    const challenge = Buffer.from(text, 'base64url')
    if (challenge.length !== RANDOM_LENGTH + END_LENGTH + TAG_LENGTH) return undefined
    const body = challenge.subarray(0, -TAG_LENGTH)
    if (!timingSafeEqual(challenge.subarray(-TAG_LENGTH), this.#tag(body, what))) return undefined
    const endsAtMs = body.readDoubleBE(RANDOM_LENGTH)
    if (CHALLENGE_LIMIT.isOver(endsAtMs, nowMs)) return undefined
    return { hash: hash('sha256', challenge, 'buffer'), endsAtMs }
  }

  #tag(body: Buffer, what: ChallengeFor): Buffer {
    return tagOf(this.#key, body, what.purpose === 'login' ? ['login'] : [what.purpose, what.session])
  }
}
