/**
 * The configuration: combines a file, environment variables and flags into one validated value, or an error
 * with the key.
 */
import { namesMeant } from '../../engine/index.ts'
import { type Problem, problemsBy, problemText } from '../../matrix/document/index.ts'
import { Secret } from '../base/secret.ts'
import { SECRET_EXPECTED, secretLine } from '../base/secret-text.ts'
import schema from './config.schema.json' with { type: 'json' }
import { validate } from './gen/config.ts'
import type { ConfigKeys } from './gen/config-keys.ts'
import { readTextFile } from './text-file.ts'
import { textProblems } from './text-problems.ts'

/** The configuration, with the keys of the file and the values that the program has made of them. */
export interface Config extends Omit<ConfigKeys, 'directory'> {
  readonly directory: Omit<ConfigKeys['directory'], 'url'> & { readonly url?: Secret }
  /** Path of the file that this configuration was read from, if any. It is not a key. */
  readonly file?: string
}

/** The configuration is invalid. Each line of the message names the source, the key and what was expected. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** A key with a single value, for example `grpc.address`. */
export interface ScalarKey {
  /** `grpc.address` as `['grpc', 'address']`. */
  readonly path: readonly string[]
  /** `PORTCULLIS_GRPC_ADDRESS`. */
  readonly variable: string
  readonly type: 'string' | 'integer' | 'boolean'
  readonly description: string
  readonly default: unknown
}

interface KeySchema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly $ref?: string
  readonly description?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, KeySchema>>
}

/** Every key of the schema that an environment variable can set. */
export const scalarKeys: readonly ScalarKey[] = scalarKeysOf(schema as KeySchema, [])

/** The sources of a configuration. All of them are optional. */
export interface ConfigSources {
  /** Path of a YAML or JSON file. */
  readonly file?: string | undefined
  /** Environment variables, for example `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Values by key, for example `grpc.address`. */
  readonly flags?: Readonly<Record<string, string | number | boolean | undefined>>
}

/**
 * Reads the configuration. Flags override the environment, which overrides the file, which overrides the
 * defaults.
 *
 * @throws ConfigError if a value is invalid; TypeError for a flag that is not a key
 */
export function readConfig({ file, environment = {}, flags = {} }: ConfigSources = {}): Config {
  const config: Tree = Object.create(null) as Tree
  for (const key of scalarKeys) if (key.default !== undefined) assign(config, key.path, key.default)
  if (file !== undefined) merge(config, fileConfig(file))
  rejectMisspelledVariables(environment)
  for (const key of scalarKeys) {
    const value = environment[key.variable]
    if (value === undefined) continue
    // One of them has a password, and a program that writes it may write the others.
    const text = secretLine(value)
    if (text === undefined) throw new ConfigError(`${key.variable}: expected ${SECRET_EXPECTED}`)
    rejectProblems(key.variable, valueProblems(key, text))
    assign(config, key.path, parseValue(key, text))
  }
  const known = new Map(scalarKeys.map((key) => [key.path.join('.'), key.path]))
  for (const [name, value] of Object.entries(flags)) {
    const path = known.get(name)
    if (path === undefined) throw new TypeError(`there is no configuration key \`${name}\``)
    if (value !== undefined) assign(config, path, value)
  }
  rejectProblems('configuration', problemsOf(config).map(problemText))
  const { directory } = config as { directory: { url?: unknown } }
  if (typeof directory.url === 'string') directory.url = new Secret(directory.url)
  if (file !== undefined) config.file = file
  return config as unknown as Config
}

/** The part of the configuration that is followed while the sidecar runs. */
export type CredentialsConfig = Pick<Config, 'callers' | 'profiles' | 'upstreams'>

/**
 * The credentials that a configuration file has now.
 *
 * @throws ConfigError where the file is not a configuration
 */
export function readCredentialsOfFile(path: string): CredentialsConfig {
  return fileConfig(path) as CredentialsConfig
}

/**
 * Whether the file has the URL of a database, which holds a password.
 *
 * @throws ConfigError where the file is not a configuration
 */
export function holdsPassword(path: string): boolean {
  return (fileConfig(path) as Partial<Pick<Config, 'directory'>>).directory?.url !== undefined
}

/** Where a host keeps what it has known of its directory. */
export function knownFolderOf({ directory, data }: Pick<Config, 'directory' | 'data'>): string {
  return directory.known_folder ?? data
}

/** The directory that hosts share; `undefined`: the sidecar uses the directory in its data folder. */
export function sharedDirectoryOf({ directory }: Config) {
  const { url, staleness_ms: stalenessMs, pool_size: poolSize, timeout_ms: timeoutMs } = directory
  return url && { url, stalenessMs, poolSize, timeoutMs }
}

/** The limits of the login throttle. */
export function throttleLimitsOf({ login_throttle }: Config) {
  const { failures, source_failures: sourceFailures, waiting, pause_ms: pauseMs } = login_throttle
  return { failures, sourceFailures, waiting, pauseMs }
}

/** The limits of the password checks. */
export function passwordLimitsOf({ passwords }: Config) {
  const { concurrent, waiting, remember_ms: rememberMs } = passwords
  return { concurrent, waiting, rememberMs }
}

/** How many changes of the directory a user or a caller may make. */
export function changeRatesOf({ changes }: Config) {
  const { burst, administrator_per_minute: administratorPerMinute, user_per_minute: userPerMinute } = changes
  return { burst, administratorPerMinute, userPerMinute }
}

function problemsOf(document: unknown): readonly Problem[] {
  const problems = problemsBy(validate, document)
  return problems.length > 0 ? problems : textProblems(document)
}

/** The variables of the configuration. The command line reads the path of the file from the first one. */
export function configVariables(): string[] {
  return ['PORTCULLIS_CONFIG', ...scalarKeys.map(({ variable }) => variable)]
}

/**
 * Rejects variables whose names are almost one of ours. Using a default instead could allow what the operator
 * meant to deny. Other variables with our prefix are ignored, because Kubernetes sets `PORTCULLIS_PORT` and
 * more for a service of that name.
 */
function rejectMisspelledVariables(environment: Readonly<Record<string, string | undefined>>): void {
  const names = configVariables()
  const problems = Object.keys(environment)
    .filter((name) => /^PORTCULLIS_/i.test(name) && !names.includes(name))
    .flatMap((name) => {
      const [meant] = namesMeant(name, names)
      return meant === undefined ? [] : [`${name}: there is no such variable; did you mean ${meant}?`]
    })
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
}

type Tree = { [key: string]: unknown }

function fileConfig(path: string): Tree {
  const reading = readTextFile(path)
  if (!reading.ok)
    throw new ConfigError(reading.problems.map((problem) => `${path}: ${problemText(problem)}`).join('\n'))
  rejectProblems(path, problemsOf(reading.value).map(problemText))
  return reading.value as Tree
}

/** @throws ConfigError if there are problems */
function rejectProblems(source: string, problems: readonly string[]): void {
  if (problems.length > 0)
    throw new ConfigError(problems.map((problem) => `${source}: ${problem}`).join('\n'))
}

/** The problems of the value of one variable. */
function valueProblems(key: ScalarKey, text: string): string[] {
  const value = parseValue(key, text)
  if (key.type === 'boolean' && typeof value !== 'boolean') return ['expected true or false']
  if (key.type === 'integer' && typeof value !== 'number') return ['expected a whole number']
  const single: Tree = {}
  assign(single, key.path, value)
  // The other keys of the group may be set elsewhere, so only the problems of this key count.
  return problemsOf(single)
    .filter((problem) => problem.path === key.path.join('.'))
    .map(({ expected }) => expected)
}

function parseValue(key: ScalarKey, text: string): unknown {
  if (key.type === 'boolean') return text === 'true' || (text === 'false' ? false : text)
  if (key.type === 'integer') return /^\d{1,15}$/.test(text) ? Number(text) : text
  return text
}

function scalarKeysOf({ properties = {} }: KeySchema, path: readonly string[]): ScalarKey[] {
  return Object.entries(properties).flatMap(([name, key]) => {
    const at = [...path, name]
    if (key.properties !== undefined) return scalarKeysOf(key, at)
    const type = key.enum !== undefined || key.$ref === '#/$defs/path' ? 'string' : key.type
    if (type !== 'string' && type !== 'integer' && type !== 'boolean') return []
    return [
      {
        path: at,
        variable: `PORTCULLIS_${at.join('_').toUpperCase()}`,
        type,
        description: key.description ?? '',
        default: key.default,
      },
    ]
  })
}

/** Sets the value at a path. All paths come from the schema, so no key is `__proto__`. */
function assign(tree: Tree, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path
  if (rest.length === 0) tree[name] = value
  else {
    tree[name] ??= {}
    assign(tree[name] as Tree, rest, value)
  }
}

/**
 * Copies all values of `from` into `tree`. Both follow the schema, so a key is a group in both or a value in
 * both.
 */
function merge(tree: Tree, from: Tree): void {
  for (const [key, value] of Object.entries(from)) {
    const into = tree[key]
    if (isGroup(into) && isGroup(value)) merge(into, value)
    else tree[key] = value
  }
}

function isGroup(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
