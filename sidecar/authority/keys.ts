/**
 * Keys that sign IAM tokens (Ed25519), and the file that contains them. A key is first staged, so that every
 * process knows it before it signs a token. Then it is active and signs. Then it is retired: it only
 * verifies, until its last token has expired.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { TokenKind } from '../../engine/index.ts'
import { callError } from '../base/call-error.ts'
import { elapsedMs } from '../base/clock.ts'
import { readOrCreate, replaceFile } from '../base/data-folder.ts'
import { withLock } from '../base/file-lock.ts'
import { holdSpareDescriptor, withSpareDescriptor } from '../base/net/spare-descriptor.ts'
import { TimeLimit } from '../base/time-limit.ts'
import { WatchedFile } from '../base/watched-file.ts'
import { EXPIRED_TOKEN_MS_MAX } from './iam-claims.ts'

export type KeyState = 'staged' | 'active' | 'retired'

/** A key with its id and its state. */
export interface SigningKey {
  readonly keyId: string
  readonly state: KeyState
  /** When the key entered this state, in milliseconds since the epoch. */
  readonly sinceMs: number
  readonly publicKey: KeyObject
  /** `undefined` for retired keys, and for all keys of a host that only checks tokens. */
  readonly privateKey: KeyObject | undefined
}

/** The public part of a key. */
export type PublicKey = Pick<SigningKey, 'keyId' | 'publicKey'>

/** Time between two looks at the file, in milliseconds. */
const POLL_MS = 1000

/** After this time an active key should make way for another, in milliseconds: 90 days. */
export const KEY_AGE_MS_MAX = 7_776_000_000

/**
 * Shortest time that a key stays staged, in milliseconds. Every process looks at the file many times in it.
 */
const STAGED_LIMIT = new TimeLimit(10_000)

/**
 * Longest time that a key may still sign after it was retired, in milliseconds: processes that have not yet
 * read the new file still use it.
 */
const RETIRING_MS_MAX = 60_000

/** Default of `KeyRingOptions.unreadableMs`. The schema of the configuration has the same. */
const UNREADABLE_MS = 5_000

/** Time between two reports that the keys are still unreadable, in milliseconds. */
const REPORT_INTERVAL_MS = 60_000

export interface KeyRingOptions {
  /** The content of the file cannot be used, or the file cannot be read. Called once per change. */
  readonly onRefused: (error: Error) => void
  /** How long the last good keys are used while the file cannot be read or used, in milliseconds. */
  readonly unreadableMs?: number | undefined
  /**
   * Called when the keys come out of use for that reason, once a minute while it lasts, and with `false` when
   * it ends.
   */
  readonly onUnreadable?: ((unreadable: boolean) => void) | undefined
  /** Time between two looks at the file, in milliseconds. */
  readonly pollMs?: number | undefined
}

/**
 * The current keys. No call uses keys of a look that is older than the poll interval, also after the process
 * was stopped for a while. So a withdrawn key is withdrawn within that interval.
 */
export class KeyRing {
  readonly #file: WatchedFile<readonly SigningKey[]>
  readonly #options: KeyRingOptions
  readonly #pollMs: number
  readonly #unreadableMs: number
  readonly #timer: NodeJS.Timeout
  #keys: readonly SigningKey[]
  #lookedAtMs = elapsedMs()
  /** When the keys were last known to be those of the file. */
  #readableAtMs = elapsedMs()
  #reportedAtMs: number | undefined

  /**
   * Reads the file, or creates it with an active and a staged key.
   *
   * @throws Error if Portcullis cannot have written the file
   */
  constructor(path: string, nowMs: number, options: KeyRingOptions) {
    this.#options = options
    this.#pollMs = options.pollMs ?? POLL_MS
    this.#unreadableMs = options.unreadableMs ?? UNREADABLE_MS
    createKeys(path, nowMs)
    const onChanged = (keys: readonly SigningKey[]) => {
      this.#keys = keys
    }
    holdSpareDescriptor()
    const read = (): readonly SigningKey[] => withSpareDescriptor(() => readKeys(path))
    this.#file = new WatchedFile({ path, pollMs: 0, read, onChanged, onRefused: options.onRefused })
    this.#keys = this.#file.initial
    this.#timer = setInterval(() => this.reload(), this.#pollMs).unref()
  }

  /**
   * All keys. The array is the same object until the keys change.
   *
   * @throws CallError if the file has not been readable for too long: a key may have been withdrawn meanwhile
   */
  get keys(): readonly SigningKey[] {
    if (elapsedMs() - this.#lookedAtMs > this.#pollMs) this.reload()
    if (this.#lookedAtMs - this.#readableAtMs > this.#unreadableMs) throw callError('KEYS_UNREADABLE', {})
    return this.#keys
  }

  /** The keys that were read last, however long ago. They are not for verifying. */
  get last(): readonly SigningKey[] {
    return this.#keys
  }

  /** Looks at the file now. If the file cannot be used, the keys stay as they are. */
  reload(): void {
    this.#lookedAtMs = elapsedMs()
    if (this.#file.reload()) this.#readableAtMs = this.#lookedAtMs
    this.#report(this.#lookedAtMs - this.#readableAtMs > this.#unreadableMs)
  }

  #report(unreadable: boolean): void {
    const nowMs = elapsedMs()
    if (!unreadable && this.#reportedAtMs === undefined) return
    if (unreadable && nowMs - (this.#reportedAtMs ?? Number.NEGATIVE_INFINITY) < REPORT_INTERVAL_MS) return
    this.#reportedAtMs = unreadable ? nowMs : undefined
    this.#options.onUnreadable?.(unreadable)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#file.close()
  }
}

/** Creates the file with an active and a staged key where it is missing. */
export function createKeys(path: string, nowMs: number): void {
  readOrCreate(path, () => serializeKeys([newKey('active', nowMs), newKey('staged', nowMs)]))
}

/** Reads the keys of a file. */
export function readKeys(path: string): SigningKey[] {
  return parseKeys(readFileSync(path, 'utf8'), path)
}

/**
 * Rotates the keys: the staged key becomes active, the active key becomes retired, and a new key is staged. A
 * retired key is dropped when its last token expired too long ago for a call to ask about it.
 *
 * @param lifetimeMs the longest lifetime of a token; `Infinity`: some tokens never expire, and no key is
 *   dropped
 * @throws Error if the staged key is so new that some process may not know it yet
 */
export function rotateKeys(path: string, nowMs: number, lifetimeMs: number): SigningKey[] {
  return withLock(`${path}.lock`, () => {
    const keys = readKeys(path)
    const keptMs = RETIRING_MS_MAX + lifetimeMs + EXPIRED_TOKEN_MS_MAX
    const kept = keys.filter((key) => key.state !== 'retired' || key.sinceMs + keptMs > nowMs)
    return writeKeys(path, rotated(kept, path, nowMs))
  })
}

/**
 * Withdraws a key: its tokens are denied from now on, and it no longer signs. If it is the active key, the
 * staged key takes its place. If it is the staged key, a new one is staged.
 *
 * @throws Error if there is no such key, or if it is the active one and the staged key is too new
 */
export function withdrawKey(path: string, keyId: string, nowMs: number): SigningKey[] {
  return withLock(`${path}.lock`, () => {
    const keys = readKeys(path)
    const found = keys.find((key) => key.keyId === keyId)
    if (found === undefined)
      throw new Error(`${path}: there is no key ${keyId}; \`portcullis keys show\` lists the keys`)
    if (keys.every(({ privateKey }) => privateKey === undefined))
      throw new Error(
        `${path}: expected a file with private keys; withdraw the key where tokens are signed, and copy the public keys from there`,
      )
    const next = found.state === 'active' ? rotated(keys, path, nowMs) : keys
    const left = next.filter((key) => key.keyId !== keyId)
    return writeKeys(path, found.state === 'staged' ? [...left, newKey('staged', nowMs)] : left)
  })
}

/**
 * The keys after the staged one took the place of the active one.
 *
 * @throws Error if the staged key is too new
 */
function rotated(keys: readonly SigningKey[], path: string, nowMs: number): SigningKey[] {
  const staged = keys.find((key) => key.state === 'staged')
  if (staged?.privateKey === undefined) throw new Error(`${path}: expected a staged key with its private key`)
  const waitMs = STAGED_LIMIT.leftSince(staged.sinceMs, nowMs)
  if (waitMs > 0)
    throw new Error(
      `the staged key is too new: every process must read it before it becomes active; try again in ${Math.ceil(waitMs / 1000)} s`,
    )
  const next = keys.map((key): SigningKey => {
    if (key.state === 'staged') return { ...key, state: 'active', sinceMs: nowMs }
    // A retired key never signs again, so its private key is deleted.
    return key.state === 'active' ? { ...key, state: 'retired', sinceMs: nowMs, privateKey: undefined } : key
  })
  return [...next, newKey('staged', nowMs)]
}

function writeKeys(path: string, keys: SigningKey[]): SigningKey[] {
  replaceFile(path, serializeKeys(keys))
  return keys
}

/** The longest lifetime of issued tokens, in milliseconds; `Infinity` if some never expire. */
export function longestLifetimeMs(kinds: Iterable<TokenKind>): number {
  const lifetimes = Array.from(kinds, ({ obtained, lifetimeSeconds }) =>
    obtained.by === 'issue' ? (lifetimeSeconds ?? Number.POSITIVE_INFINITY) * 1000 : 0,
  )
  return Math.max(0, ...lifetimes)
}

/** The content of a key file without private keys, for a host that only checks tokens. */
export function publicKeysOf(keys: readonly SigningKey[]): string {
  return serializeKeys(keys.map((key) => ({ ...key, privateKey: undefined })))
}

function newKey(state: KeyState, sinceMs: number): SigningKey {
  return { keyId: randomBytes(8).toString('hex'), state, sinceMs, ...generateKeyPairSync('ed25519') }
}

interface KeyFile {
  readonly keys: readonly {
    readonly key_id: string
    readonly state: KeyState
    readonly since_ms: number
    readonly public_key: string
    readonly private_key?: string
  }[]
}

function serializeKeys(keys: readonly SigningKey[]): string {
  const file: KeyFile = {
    keys: keys.map(({ keyId, state, sinceMs, publicKey, privateKey }) => ({
      key_id: keyId,
      state,
      since_ms: sinceMs,
      public_key: publicKey.export({ type: 'spki', format: 'pem' }) as string,
      ...(privateKey && { private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string }),
    })),
  }
  return `${JSON.stringify(file, undefined, 2)}\n`
}

/**
 * @param path for the error
 * @throws Error if Portcullis cannot have written the text, which the error does not quote
 */
export function parseKeys(text: string, path: string): SigningKey[] {
  try {
    return keysIn(text)
  } catch {
    // The cause is dropped on purpose: parse errors quote the text, which contains private keys.
    throw new Error(
      `${path}: expected signing keys as Portcullis writes them: Ed25519, one active, at most one staged`,
    )
  }
}

/** @throws Error that must not be shown */
function keysIn(text: string): SigningKey[] {
  const keys = (JSON.parse(text) as KeyFile).keys.map(
    ({ key_id, state, since_ms, public_key, private_key }) => {
      const privateKey = private_key === undefined ? undefined : createPrivateKey(private_key)
      const publicKey = createPublicKey(public_key)
      const valid =
        /^[0-9a-f]{16}$/.test(key_id) &&
        ['staged', 'active', 'retired'].includes(state) &&
        Number.isSafeInteger(since_ms) &&
        publicKey.asymmetricKeyType === 'ed25519' &&
        (privateKey === undefined || createPublicKey(privateKey).equals(publicKey))
      if (!valid) throw new Error()
      return { keyId: key_id, state, sinceMs: since_ms, publicKey, privateKey }
    },
  )
  const count = (state: KeyState) => keys.filter((key) => key.state === state).length
  if (
    count('active') !== 1 ||
    count('staged') > 1 ||
    new Set(keys.map((key) => key.keyId)).size < keys.length
  )
    throw new Error()
  return keys
}
