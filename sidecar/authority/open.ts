/** Opens the embedded authority on a data folder: the directory, the keys, the pepper. */
import { createSecretKey, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { TokenKind } from '../../engine/index.ts'
import { ADMINISTRATOR_TOKEN_FILE, openDataFolder, readOrCreate } from '../data-folder.ts'
import { SqliteDirectory } from '../directory/sqlite.ts'
import { Secret } from '../secret.ts'
import { Administration } from './administration.ts'
import { EmbeddedAuthority } from './embedded.ts'
import { openKeyRing } from './keys.ts'
import { type PasswordLimits, Passwords } from './password.ts'

export interface OpenedAuthority {
  readonly authority: EmbeddedAuthority
  readonly administration: Administration
  /** Whoever can read this file of the data folder may administer. */
  readonly administratorToken: Secret
  close(): void
}

export interface OpenOptions {
  readonly folder: string
  readonly tokenKinds: Iterable<TokenKind>
  readonly passwordLimits: PasswordLimits
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** Opens the folder, and makes it and what belongs in it on the first time. */
export function openEmbeddedAuthority({
  folder,
  tokenKinds,
  passwordLimits,
  now,
}: OpenOptions): OpenedAuthority {
  openDataFolder(folder)
  const keys = openKeyRing(join(folder, 'signing-keys.json'))
  const pepperBytes = Buffer.from(readOrCreate(join(folder, 'static-token-pepper'), randomHex), 'hex')
  if (pepperBytes.length !== 32)
    throw new Error(`${join(folder, 'static-token-pepper')}: expected 64 hex digits`)
  const administratorToken = new Secret(
    readOrCreate(join(folder, ADMINISTRATOR_TOKEN_FILE), randomHex).trim(),
  )
  const directory = new SqliteDirectory(join(folder, 'directory.sqlite'), now)
  const passwords = new Passwords(passwordLimits)
  // Made a key once: from bytes it would be made anew on every check, which costs five times the hash.
  const pepper = createSecretKey(pepperBytes)
  return {
    authority: new EmbeddedAuthority({ directory, keys, pepper, passwords, now }),
    administration: new Administration({ directory, passwords, pepper, tokenKinds }),
    administratorToken,
    close: () => directory.close(),
  }
}

function randomHex(): string {
  return `${randomBytes(32).toString('hex')}\n`
}
