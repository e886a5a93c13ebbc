/**
 * The profiles of the configuration, and the upstreams that they log in to: reads their secrets and
 * certificates.
 */
import { bareHost, isLoopback } from '../base/address.ts'
import { readAtMost, SMALL_FILE_BYTES_MAX } from '../base/bounded-file.ts'
import { Secret } from '../base/secret.ts'
import { SECRET_EXPECTED, secretLine } from '../base/secret-text.ts'
import { type Config, ConfigError, type CredentialsConfig } from './config.ts'
import { readSecret } from './configured-callers.ts'

/** Where the password of a profile comes from, or the secret of its application credential. */
export type ConfiguredPassword =
  | { readonly type: 'value'; readonly value: Secret }
  /** A program and its arguments. It runs when the password is needed. */
  | { readonly type: 'command'; readonly command: readonly string[] }

/**
 * An application credential of Keystone, without its secret: by its id, or by its name among those of a user
 * of the account.
 */
export type ApplicationCredentialReference =
  | { readonly credentialId: string }
  | { readonly credentialName: string; readonly userName: string }

/** The holder that logs in for a profile: a service user, or an application credential of Keystone. */
export type ConfiguredHolder = { readonly userName: string } | ApplicationCredentialReference

/** Credentials that the sidecar uses on behalf of callers. */
export interface ConfiguredProfile {
  readonly name: string
  /** Name of the upstream that issues; `undefined`: the embedded authority. */
  readonly upstream: string | undefined
  readonly account: string
  readonly holder: ConfiguredHolder
  /** Of the holder: the password of the user, or the secret of the application credential. */
  readonly password: ConfiguredPassword
  readonly staticToken: Secret | undefined
  /** The only projects that tokens are issued for; `undefined`: any scope. */
  readonly projects: ReadonlySet<string> | undefined
}

/** A foreign identity endpoint. */
export interface ConfiguredUpstream {
  readonly name: string
  /** URL of `auth/tokens`. */
  readonly tokensUrl: string
  /** Certificates in PEM; `undefined`: those that Node trusts. */
  readonly ca: string | undefined
  readonly timeoutMs: number
  /** `undefined`: it only issues. */
  readonly verify: ConfiguredVerification | undefined
}

interface ConfiguredVerification {
  /** The profile whose token validates. */
  readonly profile: string
  /** Project of that token; `undefined`: it is for the account. */
  readonly project: string | undefined
  readonly cacheMs: number
  readonly negativeCacheMs: number
  /** The only accounts whose tokens the upstream verifies; `undefined`: those that no other authority has. */
  readonly accounts: ReadonlySet<string> | undefined
  /** Beginnings of its tokens; empty: any. */
  readonly tokenPrefixes: readonly string[]
}

/** The parts of `Issue` by profile and of the verification by upstreams. */
export interface ConfiguredCredentials {
  readonly profiles: ReadonlyMap<string, ConfiguredProfile>
  readonly upstreams: ReadonlyMap<string, ConfiguredUpstream>
}

/** Shorter than the default deadline of clients, 5 seconds, so that a caller learns what is wrong. */
const TIMEOUT_MS_DEFAULT = 4_000
const CACHE_MS_DEFAULT = 60_000
const NEGATIVE_CACHE_MS_DEFAULT = 5_000

/** @throws ConfigError that names the key and the file, but never quotes the file */
export function readProfiles(
  config: CredentialsConfig,
  environment: Environment = process.env,
): ConfiguredCredentials {
  const configured = Object.entries(config.upstreams ?? {})
  const upstreams = new Map(configured.map(([name, upstream]) => [name, upstreamOf(name, upstream)]))
  const profiles = new Map(
    Object.entries(config.profiles ?? {}).map(([name, profile]) => [
      name,
      profileOf(name, profile, upstreams, environment),
    ]),
  )
  for (const upstream of upstreams.values()) checkVerification(upstream, profiles)
  rejectSharedAccounts([...upstreams.values()])
  return { profiles, upstreams }
}

/** Files that `readProfiles` reads: a change of one of them changes the credentials. */
export function filesOfProfiles({ profiles = {}, upstreams = {} }: CredentialsConfig): string[] {
  return [
    ...Object.values(profiles).flatMap((profile) => PROFILE_SECRET_FILES.map((key) => profile[key])),
    ...Object.values(upstreams).map(({ ca }) => ca),
  ].filter((path) => path !== undefined)
}

/** Keys of a profile that name files with secrets. */
export const PROFILE_SECRET_FILES = [
  'password_file',
  'application_credential_secret_file',
  'static_token_file',
] as const

type ProfileOfFile = NonNullable<Config['profiles']>[string]
type UpstreamOfFile = NonNullable<Config['upstreams']>[string]

function profileOf(
  name: string,
  profile: ProfileOfFile,
  upstreams: ReadonlyMap<string, ConfiguredUpstream>,
  environment: Environment,
): ConfiguredProfile {
  const at = `profiles.${name}`
  const { upstream, account, static_token_file: staticTokenFile, projects } = profile
  if (upstream !== undefined && !upstreams.has(upstream))
    throw new ConfigError(`${at}.upstream: expected the name of an upstream`)
  return {
    name,
    upstream,
    account,
    ...loginOf(at, profile, environment),
    staticToken:
      staticTokenFile === undefined ? undefined : readSecret(`${at}.static_token_file`, staticTokenFile),
    projects: projects && new Set(projects),
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/** Whether the profile logs in with an application credential, by its keys. */
function usesApplicationCredential(profile: ProfileOfFile): boolean {
  return Object.keys(profile).some((key) => key.startsWith('application_credential_'))
}

function loginOf(
  at: string,
  profile: ProfileOfFile,
  environment: Environment,
): Pick<ConfiguredProfile, 'holder' | 'password'> {
  const { user_name: userName, password_file, password_env, password_command } = profile
  const hasPassword = [password_file, password_env, password_command].some((source) => source !== undefined)
  if (usesApplicationCredential(profile)) {
    if (hasPassword)
      throw new ConfigError(`${at}: expected either a password or an application credential, found both`)
    return credentialOf(at, profile, environment)
  }
  if (userName === undefined) throw new ConfigError(`${at}.user_name: expected the name of the service user`)
  if (!hasPassword)
    throw new ConfigError(
      `${at}: expected exactly one of ${listed('password')}, or an application credential (application_credential_id)`,
    )
  return { holder: { userName }, password: secretOf(at, 'password', profile, environment) }
}

/** The token of an application credential is for the one project that it was made for, and for no other. */
function credentialOf(
  at: string,
  profile: ProfileOfFile,
  environment: Environment,
): Pick<ConfiguredProfile, 'holder' | 'password'> {
  const { upstream, user_name: userName, projects = [] } = profile
  const { application_credential_id: id, application_credential_name: name } = profile
  if (upstream === undefined)
    throw new ConfigError(
      `${at}.upstream: expected an upstream, because application credentials log in there`,
    )
  if ((id === undefined) === (name === undefined))
    throw new ConfigError(
      `${at}: expected exactly one of application_credential_id and application_credential_name`,
    )
  if (id !== undefined && userName !== undefined)
    throw new ConfigError(`${at}.user_name: expected none beside application_credential_id, which has a user`)
  if (name !== undefined && userName === undefined)
    throw new ConfigError(`${at}.user_name: expected the user of the application credential`)
  if (projects.length !== 1)
    throw new ConfigError(`${at}.projects: expected the one project of the application credential`)
  const password = secretOf(at, 'application_credential_secret', profile, environment)
  if (id !== undefined) return { holder: { credentialId: id }, password }
  return { holder: { credentialName: name as string, userName: userName as string }, password }
}

type SecretKey = 'password' | 'application_credential_secret'

function listed(key: SecretKey): string {
  return `${key}_file, ${key}_env and ${key}_command`
}

function secretOf(
  at: string,
  key: SecretKey,
  profile: ProfileOfFile,
  environment: Environment,
): ConfiguredPassword {
  const [file, variable, command] = [profile[`${key}_file`], profile[`${key}_env`], profile[`${key}_command`]]
  if ([file, variable, command].filter((source) => source !== undefined).length !== 1)
    throw new ConfigError(`${at}: expected exactly one of ${listed(key)}`)
  if (command !== undefined) {
    if (command[0] === '') throw new ConfigError(`${at}.${key}_command[0]: expected the name of a program`)
    return { type: 'command', command }
  }
  if (file !== undefined) return { type: 'value', value: readSecret(`${at}.${key}_file`, file) }
  const value = secretLine(environment[variable as string] ?? '')
  const what = key === 'password' ? 'the password' : 'the secret'
  if (value === undefined)
    throw new ConfigError(`${at}.${key}_env: expected ${SECRET_EXPECTED} in the variable ${variable}`)
  if (value === '') throw new ConfigError(`${at}.${key}_env: expected ${what} in the variable ${variable}`)
  return { type: 'value', value: new Secret(value) }
}

function upstreamOf(
  name: string,
  { auth_url: authUrl, ca, timeout_ms: timeoutMs, verify }: UpstreamOfFile,
): ConfiguredUpstream {
  const at = `upstreams.${name}`
  // Logs and answers say `embedded` of the directory's own authority.
  if (name === 'embedded') throw new ConfigError(`${at}: expected another name; embedded is the directory`)
  return {
    name,
    tokensUrl: tokensUrlOf(`${at}.auth_url`, authUrl),
    ca: ca === undefined ? undefined : readCertificates(`${at}.ca`, ca),
    timeoutMs: timeoutMs ?? TIMEOUT_MS_DEFAULT,
    verify: verify && {
      profile: verify.profile,
      project: verify.project,
      cacheMs: verify.cache_ms ?? CACHE_MS_DEFAULT,
      negativeCacheMs: verify.negative_cache_ms ?? NEGATIVE_CACHE_MS_DEFAULT,
      accounts: verify.accounts && new Set(verify.accounts),
      tokenPrefixes: verify.token_prefixes ?? [],
    },
  }
}

/**
 * `{auth_url}/identity/v3/auth/tokens` (§4.1). Clients of Keystone often have a URL that ends with a part of
 * that path, or with all of it.
 */
function tokensUrlOf(key: string, authUrl: string): string {
  if (!URL.canParse(authUrl)) throw new ConfigError(`${key}: expected a URL`)
  const url = new URL(authUrl)
  const host = bareHost(url.hostname)
  if (url.protocol === 'http:' && !isLoopback(host))
    throw new ConfigError(`${key}: expected https, because the endpoint is not on this machine`)
  // Clouds answer there with the credentials of the machine.
  if (/^169\.254\.|^fe[89ab][0-9a-f]:|^::ffff:a9fe:/i.test(host))
    throw new ConfigError(`${key}: expected no link-local address`)
  const path = url.pathname.replace(/\/+$/, '')
  if (path.endsWith('/auth/tokens')) return `${url.origin}${path}`
  const base = /\/v3$/.test(path) ? path : /\/identity$/.test(path) ? `${path}/v3` : `${path}/identity/v3`
  return `${url.origin}${base}/auth/tokens`
}

/** Certificates in PEM. @throws ConfigError that names the key and the file */
export function readCertificates(key: string, path: string): string {
  let text: string
  try {
    text = readAtMost(path, SMALL_FILE_BYTES_MAX).toString()
  } catch (error) {
    throw new ConfigError(`${key}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new ConfigError(`${key}: expected certificates in PEM in ${path}`)
  return text
}

function checkVerification(
  { name, verify }: ConfiguredUpstream,
  profiles: ReadonlyMap<string, ConfiguredProfile>,
): void {
  if (verify === undefined) return
  const at = `upstreams.${name}.verify`
  const profile = profiles.get(verify.profile)
  if (profile?.upstream !== name)
    throw new ConfigError(`${at}.profile: expected the name of a profile with \`upstream: ${name}\``)
  const { project } = verify
  if (profile.projects !== undefined && (project === undefined || !profile.projects.has(project)))
    throw new ConfigError(`${at}.project: expected one of the projects of profile ${profile.name}`)
}

/**
 * Two upstreams that could verify tokens of one account would be a mistake: one of them could forge tokens of
 * the other.
 */
function rejectSharedAccounts(upstreams: readonly ConfiguredUpstream[]): void {
  const owners = new Map<string, string>()
  let unlimited: string | undefined
  for (const { name, verify } of upstreams) {
    if (verify === undefined) continue
    if (verify.accounts === undefined) {
      if (unlimited !== undefined)
        throw new ConfigError(
          `upstreams.${name}.verify.accounts: expected the accounts whose tokens it verifies, because upstream ${unlimited} verifies any`,
        )
      unlimited = name
    }
    for (const account of verify.accounts ?? []) {
      const owner = owners.get(account)
      if (owner !== undefined)
        throw new ConfigError(
          `upstreams.${name}.verify.accounts: expected accounts of no other upstream; upstream ${owner} has one of them`,
        )
      owners.set(account, name)
    }
  }
}
