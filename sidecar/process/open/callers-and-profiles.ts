/**
 * Opens what of the configuration changes while the sidecar runs: the callers, the profiles and the
 * upstreams. Follows their files.
 */
import type { UpstreamRevocation, Verifier } from '../../authority/authority.ts'
import { createAdministratorToken } from '../../config/administrator-token.ts'
import type { Config } from '../../config/config.ts'
import { WatchedCredentials } from '../../config/watched-credentials.ts'
import { Callers } from '../../usecases/callers.ts'
import type { Profiles } from '../../usecases/profiles.ts'
import { mayAnyClientCall } from './check-config.ts'
import { Credentials, type CredentialsOptions } from './profiles-in-force.ts'

const PROFILES_REFUSED = 'the profiles and upstreams cannot be read again; the last good ones stay in force'

export interface OpenCredentials {
  readonly callers: Callers
  readonly upstreams: UpstreamRevocation
  readonly verifiers: Verifier
  readonly profiles: Profiles
  reload(): void
  close(): Promise<void>
}

/**
 * Makes the caller of the operator of the data folder, too.
 *
 * @throws ConfigError, or an Error that names the file
 */
export async function openCredentials(config: Config, options: CredentialsOptions): Promise<OpenCredentials> {
  const { log, now } = options
  if (config.administrator_token) createAdministratorToken(config.data)
  const credentials = new Credentials(options)
  const watch = new WatchedCredentials({
    config,
    onCallers: (changed) => {
      callers.replace(changed)
      if (!mayAnyClientCall(config, changed))
        log.warn('no caller has a certificate any more, so every call over TLS is refused')
      log.info({ callers: changed.map(({ name }) => name) }, 'the callers were read again')
    },
    onRefused: (error) =>
      log.error(
        { problem: error.message },
        'the callers cannot be read again; the last good ones stay in force',
      ),
    onProfiles: (changed) => {
      credentials.apply(changed).then(
        () => log.info({ profiles: [...changed.profiles.keys()] }, 'the profiles were read again'),
        (error: unknown) => log.error({ err: error }, PROFILES_REFUSED),
      )
    },
    onProfilesRefused: (error) => log.error({ problem: error.message }, PROFILES_REFUSED),
    onWithdrawn: (caller) =>
      log.warn({ caller }, 'the token file of a caller is missing; the caller is withdrawn'),
  })
  const callers = new Callers(watch.initial.callers, now)
  try {
    await credentials.apply(watch.initial)
  } catch (error) {
    watch.close()
    throw error
  }
  return {
    callers,
    upstreams: credentials,
    verifiers: credentials.verifiers,
    profiles: credentials.profiles,
    reload: () => watch.reload(),
    close: () => {
      watch.close()
      return credentials.close()
    },
  }
}
