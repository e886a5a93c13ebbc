/**
 * The values in effect and their sources: for a person who asks why the sidecar does what it does. No
 * secret is in it.
 */
import { type Config, type ConfigSources, readConfig, scalarKeys } from './config.ts'
import { readTextFile } from './text-file.ts'

export interface EffectiveValue {
  /** `grpc.address`, `callers[0].name`. */
  readonly key: string
  /** A scalar or a list of scalars; a secret is `[hidden]`. */
  readonly value: unknown
  /**
   * `default`, `file PATH`, `environment VARIABLE`, `flag`, or `unset`: nothing says it, and it has no
   * default.
   */
  readonly source: string
}

const HIDDEN = '[hidden]'

/** Keys whose values are secrets, or made of one. A command may have one among its arguments. */
const SECRET = /^directory\.url$|\.token_sha256$|\.(password|application_credential_secret)_command$/

/**
 * Reads the configuration as `readConfig` does.
 *
 * @throws ConfigError if a value is invalid
 */
export function effectiveConfig(sources: ConfigSources): {
  readonly config: Config
  readonly values: readonly EffectiveValue[]
} {
  const config = readConfig(sources)
  const { file, environment = {}, flags = {} } = sources
  const reading = file === undefined ? undefined : readTextFile(file)
  const ofFile = reading?.ok ? reading.value : {}
  const values = scalarKeys.map(({ path, variable }): EffectiveValue => {
    const key = path.join('.')
    const value = at(config, path)
    const source = () => {
      if (flags[key] !== undefined) return 'flag'
      if (environment[variable] !== undefined) return `environment ${variable}`
      if (at(ofFile, path) !== undefined) return `file ${file}`
      return value === undefined ? 'unset' : 'default'
    }
    return { key, value: shown(key, value ?? null), source: source() }
  })
  // All other keys are set in the file alone.
  const known = new Set(values.map(({ key }) => key))
  const others = leavesOf(ofFile, '')
    .filter(([key]) => !known.has(key))
    .map(([key, value]): EffectiveValue => ({ key, value: shown(key, value), source: `file ${file}` }))
  return { config, values: [...values, ...others] }
}

/** The values in force of a configuration that was read before, by their keys. */
export function settingsShown(config: Config): Readonly<Record<string, unknown>> {
  // Secrets become texts, and are hidden by their keys.
  const leaves = leavesOf(JSON.parse(JSON.stringify(config)), '')
  return Object.fromEntries(leaves.map(([key, value]) => [key, shown(key, value)]))
}

function at(tree: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    tree,
  )
}

/** The scalars and the lists of scalars in a value, with their keys. */
function leavesOf(value: unknown, key: string): (readonly [key: string, value: unknown])[] {
  if (Array.isArray(value) && value.some(isObject))
    return value.flatMap((each, index) => leavesOf(each, `${key}[${index}]`))
  if (!isObject(value)) return [[key, value]]
  return Object.entries(value).flatMap(([name, each]) => leavesOf(each, key === '' ? name : `${key}.${name}`))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function shown(key: string, value: unknown): unknown {
  if (value === null) return null
  if (SECRET.test(key)) return HIDDEN
  if (Array.isArray(value)) return value.map((each) => shown(key, each))
  if (typeof value !== 'string') return value
  return value.replace(CREDENTIALS, `//${HIDDEN}@`).replace(QUERY, `$1?${HIDDEN}`)
}

/** A user and a password in a URL. */
const CREDENTIALS = /\/\/[^/@\s]*@/

/** Behind the path of a URL, some services take a key. */
const QUERY = /^(https?:\/\/[^?#]*)\?.*$/i
