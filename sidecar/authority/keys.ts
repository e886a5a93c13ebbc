/**
 * Keys that sign IAM tokens (Ed25519), and the file that holds them. A key is staged first, so that every process
 * knows it before the first token of it; then it is active and signs; then it is retired and verifies until the last
 * token of it has expired.
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
import { readOrCreate, replaceFile, withLock } from '../base/data-folder.ts'
import { WatchedFile } from '../base/watched-file.ts'
import { EXPIRED_TOKEN_MS_MAX } from '../directory/change.ts'

export type KeyState = 'staged' | 'active' | 'retired'

/** A key under its id. */
export interface SigningKey {
  readonly keyId: string
  readonly state: KeyState
  /** When it came into this state, in milliseconds since the epoch. */
  readonly sinceMs: number
  readonly publicKey: KeyObject
  /** Absent on retired keys, and everywhere on a host that only checks. */
  readonly privateKey: KeyObject | undefined
}

/** How often the file is looked at, in milliseconds. */
const POLL_MS = 1000

/** How long a key is staged at least, in milliseconds: many looks of every process. */
const STAGED_MS_MIN = 10_000

/** How long after its retirement a key may sign all the same, in milliseconds: until every process has read the file. */
const RETIRING_MS_MAX = 60_000

/** The keys in force, read again when the file changes. */
export class KeyRing {
  readonly #file: WatchedFile<readonly SigningKey[]>
  #keys: readonly SigningKey[]

  /** Reads the file, or creates it with an active and a staged key. @throws Error where it is not as Portcullis writes it */
  constructor(path: string, nowMs: number, onRefused: (error: Error) => void) {
    readOrCreate(path, () => written([newKey('active', nowMs), newKey('staged', nowMs)]))
    const onChanged = (keys: readonly SigningKey[]) => {
      this.#keys = keys
    }
    const read = (): readonly SigningKey[] => readKeys(path)
    this.#file = new WatchedFile({ path, pollMs: POLL_MS, read, onChanged, onRefused })
    this.#keys = this.#file.initial
  }

  /** All of them; the same array as long as nothing has changed. */
  get keys(): readonly SigningKey[] {
    return this.#keys
  }

  /** Looks at the file now. One that cannot be used changes nothing. */
  reload(): void {
    this.#file.reload()
  }

  close(): void {
    this.#file.close()
  }
}

/** The keys of a file. */
export function readKeys(path: string): SigningKey[] {
  return parsed(readFileSync(path, 'utf8'), path)
}

/**
 * The staged key becomes active, the active one retired, and a new one staged. A retired key is dropped when nobody can ask
 * about its last token any more, expired or not.
 *
 * @param lifetimeMs how long a token lives at most; `Infinity`: some never expire, and no key is dropped
 * @throws Error where the staged key has not been there long enough for every process to know it
 */
export function rotateKeys(path: string, nowMs: number, lifetimeMs: number): SigningKey[] {
  return withLock(`${path}.lock`, () => {
    const keys = readKeys(path)
    const staged = keys.find((key) => key.state === 'staged')
    if (staged?.privateKey === undefined)
      throw new Error(`${path}: expected a staged key with its private key`)
    const waitMs = staged.sinceMs + STAGED_MS_MIN - nowMs
    if (waitMs > 0)
      throw new Error(
        `the staged key is too young to be active: every process has to know it; try again in ${Math.ceil(waitMs / 1000)} s`,
      )
    const keptMs = RETIRING_MS_MAX + lifetimeMs + EXPIRED_TOKEN_MS_MAX
    const next = keys
      .filter((key) => key.state !== 'retired' || key.sinceMs + keptMs > nowMs)
      .map((key): SigningKey => {
        if (key.state === 'staged') return { ...key, state: 'active', sinceMs: nowMs }
        // A retired key never signs again, so its private half is forgotten.
        return key.state === 'active'
          ? { ...key, state: 'retired', sinceMs: nowMs, privateKey: undefined }
          : key
      })
    const rotated = [...next, newKey('staged', nowMs)]
    replaceFile(path, written(rotated))
    return rotated
  })
}

/** How long a token that is issued lives at most, in milliseconds; `Infinity` where some never expire. */
export function longestLifetimeMs(kinds: Iterable<TokenKind>): number {
  const lifetimes = Array.from(kinds, ({ obtained, lifetimeSeconds }) =>
    obtained.by === 'issue' ? (lifetimeSeconds ?? Number.POSITIVE_INFINITY) * 1000 : 0,
  )
  return Math.max(0, ...lifetimes)
}

/** The same keys for a host that only checks: without their private halves. */
export function publicKeysOf(keys: readonly SigningKey[]): string {
  return written(keys.map((key) => ({ ...key, privateKey: undefined })))
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

function written(keys: readonly SigningKey[]): string {
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

function parsed(text: string, path: string): SigningKey[] {
  try {
    const keys = (JSON.parse(text) as KeyFile).keys.map(
      ({ key_id, state, since_ms, public_key, private_key }) => {
        const privateKey = private_key === undefined ? undefined : createPrivateKey(private_key)
        const publicKey = createPublicKey(public_key)
        const sound =
          /^[0-9a-f]{16}$/.test(key_id) &&
          ['staged', 'active', 'retired'].includes(state) &&
          Number.isSafeInteger(since_ms) &&
          publicKey.asymmetricKeyType === 'ed25519' &&
          (privateKey === undefined || createPublicKey(privateKey).equals(publicKey))
        if (!sound) throw new Error()
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
  } catch {
    // The cause is dropped on purpose: parse errors quote the text, which holds private keys.
    throw new Error(
      `${path}: expected signing keys as Portcullis writes them: Ed25519, one active, at most one staged`,
    )
  }
}
