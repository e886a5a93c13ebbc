/** The callers of the configuration: reads their tokens from files. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { FileTooLong, readAtMost, SMALL_FILE_BYTES_MAX } from '../base/bounded-file.ts'
import {
  type CertificateName,
  DNS_EXPECTED,
  dnsName,
  URI_EXPECTED,
  uriName,
} from '../base/certificate-name.ts'
import { type Exposure, exposureOf } from '../base/exposure.ts'
import { Secret } from '../base/secret.ts'
import { SECRET_EXPECTED, secretText } from '../base/secret-text.ts'
import { type ConfiguredRights, isRight, RIGHT_EXPECTED, rightsOf } from './caller-rights.ts'
import { type Config, ConfigError } from './config.ts'
import { momentOf } from './moment.ts'

/**
 * A caller, with the hash of the token and the name of the certificate that identify it. At least one of the
 * two is there.
 */
export interface ConfiguredCaller {
  readonly name: string
  /** SHA-256 of the caller token, in hexadecimal. */
  readonly tokenSha256: string | undefined
  readonly certificateName: CertificateName | undefined
  readonly profiles: ReadonlySet<string>
  readonly rights: ConfiguredRights
  /** Milliseconds since the epoch; `undefined`: the caller does not expire. */
  readonly expiresAtMs: number | undefined
}

/**
 * Reads callers and the hashes of their tokens.
 *
 * @param onMissing where it is given, a caller whose token file is missing is left out and named, which
 *   otherwise is an error
 * @throws ConfigError that names the key and the file, but never quotes the file
 */
export function readCallers(
  callers: NonNullable<Config['callers']>,
  profiles: ReadonlySet<string>,
  onMissing?: (name: string) => void,
): ConfiguredCaller[] {
  const certificateNames = readCertificateNames(callers)
  return callers.flatMap((caller, index) => {
    const at = `callers[${index}]`
    rejectAdministrator(at, caller)
    for (const [position, name] of (caller.profiles ?? []).entries())
      if (!profiles.has(name))
        throw new ConfigError(`${at}.profiles[${position}]: expected the name of a profile`)
    for (const [position, right] of (caller.rights ?? []).entries())
      if (!isRight(right)) throw new ConfigError(`${at}.rights[${position}]: expected ${RIGHT_EXPECTED}`)
    const expiresAtMs = momentOf(`${at}.expires_at`, caller.expires_at)
    const { name } = caller
    const certificateName = certificateNames[index]
    const token = tokenHash(at, caller, onMissing !== undefined)
    if (token.missing) {
      onMissing?.(name)
      return []
    }
    const tokenSha256 = token.hash
    if (tokenSha256 === undefined && certificateName === undefined)
      throw new ConfigError(`${at}: expected token_file, token_sha256 or certificate`)
    const rights = rightsOf(caller.rights ?? [])
    const profilesOfCaller = new Set(caller.profiles)
    return { name, tokenSha256, certificateName, profiles: profilesOfCaller, rights, expiresAtMs }
  })
}

/** The name of each caller's certificate. @throws ConfigError where two callers have the same one */
function readCertificateNames(callers: NonNullable<Config['callers']>): (CertificateName | undefined)[] {
  const owners = new Map<CertificateName, number>()
  return callers.map(({ certificate }, index) => {
    if (certificate === undefined) return undefined
    const at = `callers[${index}].certificate`
    const name = certificateName(at, certificate)
    const owner = owners.get(name)
    if (owner !== undefined)
      throw new ConfigError(`${at}: expected a unique name, callers[${owner}] has the same one`)
    owners.set(name, index)
    return name
  })
}

function certificateName(
  at: string,
  { dns, uri }: NonNullable<CallerOfFile['certificate']>,
): CertificateName {
  if ((dns === undefined) === (uri === undefined)) throw new ConfigError(`${at}: expected either dns or uri`)
  const name = dns === undefined ? uriName(uri ?? '') : dnsName(dns)
  if (name !== undefined) return name
  throw new ConfigError(
    dns === undefined ? `${at}.uri: expected ${URI_EXPECTED}` : `${at}.dns: expected ${DNS_EXPECTED}`,
  )
}

type CallerOfFile = NonNullable<Config['callers']>[number]

/** A key of earlier versions that said less than it granted. */
function rejectAdministrator(at: string, { administrator }: CallerOfFile): void {
  if (administrator === true)
    throw new ConfigError(
      `${at}.administrator: expected \`rights\` instead: \`rights: [revoke]\` to revoke tokens by their id, narrower rights for what the caller needs, or \`rights: [everything]\` for all that administrator: true granted`,
    )
  if (administrator === false) throw new ConfigError(`${at}.administrator: expected no such key; remove it`)
}

/** The hash of the caller's token, if it has one. The token file may be missing in some cases. */
function tokenHash(
  at: string,
  { token_file: path, token_sha256: hash }: CallerOfFile,
  mayBeMissing: boolean,
): { readonly hash?: string | undefined; readonly missing?: boolean } {
  if (path !== undefined && hash !== undefined)
    throw new ConfigError(`${at}: expected either token_file or token_sha256`)
  if (path === undefined) return { hash }
  if (mayBeMissing && !existsSync(path)) return { missing: true }
  const token = readSecret(`${at}.token_file`, path)
  if (token.reveal().length < 32)
    throw new ConfigError(`${at}.token_file: expected a token of 32 characters or more`)
  return { hash: createHash('sha256').update(token.reveal()).digest('hex') }
}

/** Returns the first line of a file. An error names the key and the file, but never quotes the file. */
export function readSecret(key: string, path: string): Secret {
  const [line = ''] = readSecretText(key, path).split(/\r?\n/, 1)
  if (line === '') throw new ConfigError(`${key}: expected a secret in the first line of ${path}`)
  return new Secret(line)
}

/**
 * Returns the text of a file with secrets. An error names the key and the file, but never quotes the file.
 */
export function readSecretText(key: string, path: string): string {
  let text: string | undefined
  let exposure: Exposure | undefined
  try {
    text = secretText(readAtMost(path, SMALL_FILE_BYTES_MAX))
    exposure = exposureOf(path)
  } catch (error) {
    if (error instanceof FileTooLong) throw new ConfigError(`${key}: ${path}: ${error.message}`)
    const { code } = error as NodeJS.ErrnoException
    // The code distinguishes a transient error from a bad file.
    throw Object.assign(new ConfigError(`${key}: ${path} cannot be read (${code})`), { code })
  }
  if (exposure?.refused) throw new ConfigError(`${key}: ${path}: ${exposure.problem}`)
  if (text === undefined) throw new ConfigError(`${key}: expected ${SECRET_EXPECTED} in ${path}`)
  return text
}
