/**
 * The backup of what only this folder has: the keys that sign IAM tokens, and the pepper of the static
 * tokens' hashes.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  giveToOwnerOf,
  makeFolder,
  PEPPER_FILE,
  replaceFile,
  SIGNING_KEYS_FILE,
  writeWhole,
} from '../base/data-folder.ts'
import { expectSealed, linesOfSealed, writeSealed } from '../base/sealed-file.ts'
import { parseKeys, readKeys, type SigningKey } from './keys.ts'
import { fingerprintOf, pepperOf } from './static-token.ts'

/** The content of the two files. */
export interface BackedUpKeys {
  readonly createdAt: string
  readonly keys: readonly SigningKey[]
  /** Identifies the pepper without revealing it. */
  readonly pepperFingerprint: string
  readonly texts: { readonly signing_keys: string; readonly pepper: string }
}

/** @throws Error if a file of the folder cannot be used, or the new one exists */
export async function backUpKeys(
  path: string,
  folder: string,
  { version, nowMs }: { readonly version: string; readonly nowMs: number },
): Promise<readonly SigningKey[]> {
  const keysFile = join(folder, SIGNING_KEYS_FILE)
  const signingKeys = readFileSync(keysFile, 'utf8')
  const keys = parseKeys(signingKeys, keysFile)
  const pepper = readFileSync(join(folder, PEPPER_FILE), 'utf8')
  pepperOf(pepper, join(folder, PEPPER_FILE))
  await writeSealed(path, 'keys', (append) =>
    append({ created_at: new Date(nowMs).toISOString(), version, signing_keys: signingKeys, pepper }),
  )
  return keys
}

/** @throws Error that does not quote the file */
export async function readBackedUpKeys(path: string): Promise<BackedUpKeys> {
  await expectSealed(path, 'keys')
  for await (const line of linesOfSealed(path)) {
    const { created_at: createdAt, signing_keys, pepper } = Object(line) as Record<string, unknown>
    if (typeof createdAt !== 'string' || typeof signing_keys !== 'string' || typeof pepper !== 'string') break
    const keys = parseKeys(signing_keys, path)
    const pepperFingerprint = fingerprintOf(pepperOf(pepper, path))
    return { createdAt, keys, pepperFingerprint, texts: { signing_keys, pepper } }
  }
  throw new Error(`${path}: expected the backup of keys`)
}

/** How the keys of a folder change where a backup takes their place. */
export interface KeyDifference {
  /**
   * Keys of the backup that the folder lacks: they were withdrawn after the backup, or dropped when their
   * tokens had expired.
   */
  readonly returning: readonly string[]
  /** Keys of the folder that the backup lacks: their tokens are denied. */
  readonly lost: readonly string[]
}

/** The files that are put back. */
export interface KeysInstallation {
  readonly folder: string
  /** Whether keys, and a pepper, may be replaced by others. */
  readonly replace: boolean
  /** Leaves the signing keys of the folder as they are. */
  readonly pepperOnly: boolean
}

/** @throws Error if there are other keys, or another pepper, and they must not be replaced */
export function differenceTo(
  backup: BackedUpKeys,
  { folder, replace, pepperOnly }: KeysInstallation,
): KeyDifference {
  for (const [file, text] of filesOf(backup, folder, pepperOnly))
    if (!replace && existsSync(file) && readFileSync(file, 'utf8') !== text)
      throw new Error(`${file} exists and differs from the backup; use --replace to replace it`)
  const keysFile = join(folder, SIGNING_KEYS_FILE)
  if (pepperOnly || !existsSync(keysFile)) return { returning: [], lost: [] }
  const ids = (keys: readonly SigningKey[]) => keys.map(({ keyId }) => keyId)
  const restored = ids(backup.keys)
  let current: string[]
  try {
    current = ids(readKeys(keysFile))
  } catch {
    // A file that cannot be read has no keys to lose, and cannot show which ones were withdrawn.
    return { returning: restored, lost: [] }
  }
  return {
    returning: restored.filter((id) => !current.includes(id)),
    lost: current.filter((id) => !restored.includes(id)),
  }
}

/** Writes the files. A running sidecar follows the keys within a second, and the pepper at its next start. */
export function installKeys(backup: BackedUpKeys, { folder, pepperOnly }: KeysInstallation): void {
  makeFolder(folder)
  for (const [file, text] of filesOf(backup, folder, pepperOnly))
    if (existsSync(file)) {
      if (readFileSync(file, 'utf8') !== text) replaceFile(file, text)
    } else {
      writeWhole(file, text)
      giveToOwnerOf(folder, file)
    }
}

function filesOf(
  { texts }: BackedUpKeys,
  folder: string,
  pepperOnly: boolean,
): [path: string, text: string][] {
  const pepper: [string, string] = [join(folder, PEPPER_FILE), texts.pepper]
  return pepperOnly ? [pepper] : [pepper, [join(folder, SIGNING_KEYS_FILE), texts.signing_keys]]
}

/** Identifies the pepper of a folder; `undefined`: it has none that can be used. */
export function pepperFingerprintIn(folder: string): string | undefined {
  const file = join(folder, PEPPER_FILE)
  try {
    return fingerprintOf(pepperOf(readFileSync(file, 'utf8'), file))
  } catch {
    return undefined
  }
}
