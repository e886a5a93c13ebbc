/**
 * The administrator token of the data folder: a caller token with every right, for the first minute of a new
 * directory. It can be rotated, and switched off by `administrator_token: false`.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ADMINISTRATOR_TOKEN_FILE, readOrCreate, replaceFile } from '../base/data-folder.ts'
import { Secret } from '../base/secret.ts'
import { secretLine } from '../base/secret-text.ts'

export function administratorTokenFile(folder: string): string {
  return join(folder, ADMINISTRATOR_TOKEN_FILE)
}

/** Creates the file where it is missing. */
export function createAdministratorToken(folder: string): void {
  readOrCreate(administratorTokenFile(folder), randomHex)
}

/** Replaces the token. Running sidecars follow within a second, and the earlier token is unknown then. */
export function rotateAdministratorToken(folder: string): void {
  replaceFile(administratorTokenFile(folder), randomHex())
}

/**
 * @throws Error where the file cannot be read, or Portcullis cannot have written it: a short token can be
 *   guessed
 */
export function readAdministratorToken(folder: string): Secret {
  const path = administratorTokenFile(folder)
  const token = secretLine(readFileSync(path)) ?? ''
  if (!/^[0-9a-f]{64}$/.test(token)) throw new Error(`${path}: expected 64 hex digits`)
  return new Secret(token)
}

function randomHex(): string {
  return `${randomBytes(32).toString('hex')}\n`
}
