/** Opens the embedded authority on a data folder: the directory, the keys, the pepper. */
import { createSecretKey, randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { TokenKind } from '../../engine/index.ts'
import {
  ADMINISTRATOR_TOKEN_FILE,
  openDataFolder,
  readOrCreate,
  SIGNING_KEYS_FILE,
} from '../base/data-folder.ts'
import { Secret } from '../base/secret.ts'
import { openDirectory, type SharedDirectory } from '../directory/open.ts'
import { Administration } from './administration/administration.ts'
import { EmbeddedAuthority } from './embedded.ts'
import { IamTokenSigner } from './iam-token.ts'
import { KeyRing } from './keys.ts'
import { type PasswordLimits, Passwords } from './password.ts'
import { fingerprintOf } from './static-token.ts'
import type { LoginThrottle } from './throttle.ts'

export interface OpenedAuthority {
  readonly authority: EmbeddedAuthority
  readonly administration: Administration
  /** Whoever can read this file of the data folder may administer. */
  readonly administratorToken: Secret
  close(): Promise<void>
}

export interface OpenOptions extends AuthorityEvents {
  /** Keys, pepper and administrator token of this host. Hosts that share a directory must share `signing-keys.json` and `static-token-pepper`. */
  readonly folder: string
  /** The directory that hosts share; by default it is a file of the folder. */
  readonly shared?: SharedDirectory | undefined
  /** The kinds of the matrix in force. */
  readonly tokenKinds: () => Iterable<TokenKind>
  readonly passwordLimits: PasswordLimits
  readonly failedLogins: LoginThrottle
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** What whoever runs the authority should know of. */
export interface AuthorityEvents {
  /** The file of signing keys was changed to something that cannot be used; the last good keys stay in force. */
  readonly onKeysRefused: (error: Error) => void
  /**
   * A token was denied because no key of this host has that id. Anybody can write such a token; where hosts that share a
   * directory have different keys, it is genuine.
   */
  readonly onUnknownKey: (keyId: string) => void
  /** The folder has keys, so it was in use, and its directory is gone: an empty one takes its place. */
  readonly onDirectoryLost: (file: string) => void
  /** Active static tokens that were hashed with another pepper: this host cannot recognise them, and denies them. */
  readonly onStrangeStaticTokens: (strange: StrangeStaticTokens) => void
}

export interface StrangeStaticTokens {
  readonly count: number
  /** Where this host's pepper is. */
  readonly pepperFile: string
}

/** Opens the folder, and makes it and what belongs in it on the first time. */
export async function openEmbeddedAuthority(options: OpenOptions): Promise<OpenedAuthority> {
  const { folder, tokenKinds, passwordLimits, failedLogins, now, onKeysRefused } = options
  const directoryFile = join(folder, 'directory.sqlite')
  const inUse = openDataFolder(folder)
  if (inUse && options.shared === undefined && isMissing(directoryFile))
    options.onDirectoryLost(directoryFile)
  await using opening = new AsyncDisposableStack()
  const keys = new KeyRing(join(folder, SIGNING_KEYS_FILE), now(), onKeysRefused)
  opening.defer(() => keys.close())
  const signer = new IamTokenSigner(keys, options.onUnknownKey)
  const pepperFile = join(folder, 'static-token-pepper')
  const pepperBytes = Buffer.from(readOrCreate(pepperFile, randomHex), 'hex')
  if (pepperBytes.length !== 32) throw new Error(`${pepperFile}: expected 64 hex digits`)
  // Made a key once: from bytes it would be made anew on every check, which costs five times the hash.
  const pepper = createSecretKey(pepperBytes)
  const administratorToken = new Secret(
    readOrCreate(join(folder, ADMINISTRATOR_TOKEN_FILE), randomHex).trim(),
  )
  if (!/^[0-9a-f]{64}$/.test(administratorToken.reveal()))
    throw new Error(`${join(folder, ADMINISTRATOR_TOKEN_FILE)}: expected 64 hex digits`)
  const store = await openDirectory(directoryFile, options.shared, now)
  opening.defer(() => store.close())
  const count = await store.records.staticTokensOfOtherPeppers(fingerprintOf(pepper))
  if (count > 0) options.onStrangeStaticTokens({ count, pepperFile })
  const passwords = new Passwords(passwordLimits)
  const open = opening.move()
  return {
    authority: new EmbeddedAuthority({ store, signer, pepper, passwords, failedLogins, now }),
    administration: new Administration({ store, passwords, pepper, signer, tokenKinds, now }),
    administratorToken,
    close: () => open.disposeAsync(),
  }
}

function isMissing(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0
}

function randomHex(): string {
  return `${randomBytes(32).toString('hex')}\n`
}
