/**
 * One-time codes of control panel users (RFC 6238): what authenticator apps show. Their secret is stored
 * encrypted, with a key that is not in the directory. The caller uses up the step of a code, in the
 * transaction that relies on it.
 */
import { type KeyObject, randomBytes } from 'node:crypto'
import type { TOTP } from 'otpauth'
import { callError, invalidArgument } from '../../base/call-error.ts'
import { Secret } from '../../base/secret.ts'
import { TimeLimit } from '../../base/time-limit.ts'
import { fingerprintOf } from '../static-token.ts'
import { derivedKey, seal, unseal } from './sealed.ts'

/** Parameters that authenticator apps assume by default. */
const FORM = { algorithm: 'SHA1', digits: 6, period: 30 } as const

/** As long as the hash, as RFC 4226 recommends. */
const SECRET_LENGTH = 20

/** Steps before and after the present one whose codes are accepted: clocks differ, and people type. */
const SKEW = 1

/** How long a user may take to set up their app. */
const SETUP_LIMIT = new TimeLimit(10 * 60_000)

/** The user of a code. */
export interface CodeHolder {
  readonly id: string
  readonly account: string
  readonly name: string
}

/** A secret as the directory has it. */
export interface StoredCode {
  readonly secret: Buffer
  /** Fingerprint of the pepper whose key it was encrypted with. */
  readonly sealedWith: string
}

/** The data with which a user sets up their app. None of it is stored. */
export interface CodeSetup {
  /** In base32, to be typed. */
  readonly secret: Secret
  /** The same as `otpauth:` address, to be scanned. */
  readonly uri: Secret
  /** The secret, encrypted for `finish`. */
  readonly sealed: string
}

/** A secret that an app has, with the step of the code that showed it. */
export interface NewCode extends StoredCode {
  readonly step: number
}

export class Codes {
  readonly #key: KeyObject
  readonly #fingerprint: string

  constructor(pepper: KeyObject) {
    this.#key = derivedKey(pepper, 'one-time codes')
    this.#fingerprint = fingerprintOf(pepper)
  }

  /** @param session the setup ends in the session that began it */
  async begin({ id, account, name }: CodeHolder, session: string, nowMs: number): Promise<CodeSetup> {
    const bytes = randomBytes(SECRET_LENGTH)
    const totp = await generatorOf(bytes, `${name} (${account})`)
    const ends = Buffer.alloc(8)
    ends.writeDoubleBE(SETUP_LIMIT.endOf(nowMs))
    const sealed = seal(this.#key, Buffer.concat([ends, bytes]), ['setup', id, session])
    return {
      secret: new Secret(totp.secret.base32),
      uri: new Secret(totp.toString()),
      sealed: sealed.toString('base64url'),
    }
  }

  /** @throws CallError if the setup took too long or was begun elsewhere, or the code is wrong */
  async finish(
    { id }: Pick<CodeHolder, 'id'>,
    session: string,
    { sealed, code }: { readonly sealed: string; readonly code: string },
    nowMs: number,
  ): Promise<NewCode> {
    const opened = unseal(this.#key, Buffer.from(sealed, 'base64url'), ['setup', id, session])
    if (opened === undefined || SETUP_LIMIT.isOver(opened.readDoubleBE(0), nowMs))
      throw invalidArgument({
        field: 'sealed',
        expected: 'what the setup began with, in the same session, at most 10 minutes ago',
      })
    const bytes = opened.subarray(8)
    const step = await stepOf(bytes, code, nowMs)
    if (step === undefined) throw callError('CODE_WRONG', {})
    return { secret: seal(this.#key, bytes, ['stored', id]), sealedWith: this.#fingerprint, step }
  }

  /**
   * The step that a code is of; `undefined`: the code is wrong. Each step is used once, so the caller
   * compares it with the last one.
   *
   * @throws CallError if this host has another pepper than the one that set up the code
   */
  async stepOf(userId: string, stored: StoredCode, code: string, nowMs: number): Promise<number | undefined> {
    const bytes =
      stored.sealedWith === this.#fingerprint
        ? unseal(this.#key, stored.secret, ['stored', userId])
        : undefined
    if (bytes === undefined) throw callError('CODE_UNREADABLE', {})
    return stepOf(bytes, code, nowMs)
  }
}

/** @throws CallError if the text is not six digits */
export function expectCode(code: string): void {
  if (!/^\d{6}$/.test(code)) throw invalidArgument({ field: 'code', expected: '6 digits' })
}

async function stepOf(bytes: Buffer, code: string, nowMs: number): Promise<number | undefined> {
  expectCode(code)
  const totp = await generatorOf(bytes, '')
  const delta = totp.validate({ token: code, timestamp: nowMs, window: SKEW })
  return delta === null ? undefined : totp.counter({ timestamp: nowMs }) + delta
}

/** Loads the library, which sidecars without one-time codes do without. */
async function generatorOf(bytes: Buffer, label: string): Promise<TOTP> {
  const otpauth = await import('otpauth')
  const secret = new otpauth.Secret({ buffer: Uint8Array.from(bytes).buffer })
  return new otpauth.TOTP({ ...FORM, issuer: 'Portcullis', label, secret })
}
