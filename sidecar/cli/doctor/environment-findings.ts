/** Looks for variables that were meant for the sidecar, and that nothing reads. */
import { type Config, configVariables } from '../../config/config.ts'
import { type Finding, findingsOf } from './finding.ts'

/** Variables of the commands that ask a sidecar. */
const OF_COMMANDS = ['PORTCULLIS_HEADER', 'PORTCULLIS_PASSWORD']

/**
 * The variables that Kubernetes sets in the pods beside a service, for example of the name `portcullis`:
 * `PORTCULLIS_SERVICE_HOST`, `PORTCULLIS_PORT_50051_TCP`.
 */
const OF_KUBERNETES = /_SERVICE_HOST$|_SERVICE_PORT(?:_|$)|_PORT(?:$|_\d+_(?:TCP|UDP|SCTP)(?:_|$))/

/** One that is almost the name of a key is an error of the configuration. Values are not shown. */
export function environmentFindings(
  { profiles = {} }: Pick<Config, 'profiles'>,
  environment: Readonly<Record<string, string | undefined>>,
): Finding[] {
  const { warning } = findingsOf('environment')
  const read = new Set([
    ...configVariables(),
    ...Object.values(profiles).flatMap((profile) => [
      profile.password_env,
      profile.application_credential_secret_env,
    ]),
    ...OF_COMMANDS,
  ])
  return Object.keys(environment)
    .filter((name) => /^PORTCULLIS_/i.test(name) && !read.has(name) && !OF_KUBERNETES.test(name))
    .sort()
    .map((name) =>
      warning(
        name,
        'nothing reads this variable',
        'correct its name, or remove it; docs/operate/configuration.md lists the variables',
      ),
    )
}
