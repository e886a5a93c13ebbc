/** The credentials of the configuration: reads the secrets of profiles and callers from their files. */
import { readFileSync } from 'node:fs'
import { Secret } from '../base/secret.ts'
import { type Config, ConfigError } from './config.ts'

/** Credentials that the sidecar uses on behalf of callers. */
export interface ConfiguredProfile {
  readonly requester: { readonly account: string; readonly userName: string; readonly password: Secret }
  readonly staticToken: Secret | undefined
}

/** A caller, and the token that identifies it. */
export interface ConfiguredCaller {
  readonly token: Secret
  readonly caller: {
    readonly name: string
    readonly profiles: ReadonlySet<string>
    /** Whether the caller has administrator rights over everything. */
    readonly operator: boolean
  }
}

export interface ConfiguredCredentials {
  /** By name. */
  readonly profiles: ReadonlyMap<string, ConfiguredProfile>
  readonly callers: readonly ConfiguredCaller[]
}

/** @throws ConfigError that names the key and the file, but never quotes the file */
export function readCredentials(config: Config): ConfiguredCredentials {
  const profiles = readProfiles(config)
  return { profiles, callers: readCallers(config, profiles) }
}

function readProfiles(config: Config): Map<string, ConfiguredProfile> {
  return new Map(
    Object.entries(config.profiles ?? {}).map(([name, profile]) => {
      const at = `profiles.${name}`
      const { account, user_name: userName, static_token_file: staticTokenFile } = profile
      return [
        name,
        {
          requester: {
            account,
            userName,
            password: readSecret(`${at}.password_file`, profile.password_file),
          },
          staticToken:
            staticTokenFile === undefined
              ? undefined
              : readSecret(`${at}.static_token_file`, staticTokenFile),
        },
      ]
    }),
  )
}

function readCallers(config: Config, profiles: ReadonlyMap<string, ConfiguredProfile>): ConfiguredCaller[] {
  return (config.callers ?? []).map((caller, index) => {
    const at = `callers[${index}]`
    for (const [position, name] of (caller.profiles ?? []).entries())
      if (!profiles.has(name))
        throw new ConfigError(`${at}.profiles[${position}]: expected the name of a profile`)
    const token = readSecret(`${at}.token_file`, caller.token_file)
    if (token.reveal().length < 32)
      throw new ConfigError(`${at}.token_file: expected a token of 32 characters or more`)
    return {
      token,
      caller: {
        name: caller.name,
        profiles: new Set(caller.profiles),
        operator: caller.administrator === true,
      },
    }
  })
}

/** Returns the first line of a file. An error names the key and the file, but never quotes the file. */
function readSecret(key: string, path: string): Secret {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`${key}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  const [line = ''] = text.split(/\r?\n/)
  if (line === '') throw new ConfigError(`${key}: expected a secret in the first line of ${path}`)
  return new Secret(line)
}
