/**
 * The files of a configuration that hold secrets, or that give rights: no other user may change them, and few
 * may read them.
 */
import { type ExpectedPrivacy, type Exposure, exposureOf } from '../base/exposure.ts'
import { Secret } from '../base/secret.ts'
import { type Config, ConfigError, holdsPassword } from './config.ts'
import { readSecretText } from './configured-callers.ts'
import { PROFILE_SECRET_FILES } from './profiles-config.ts'

interface SecretFile extends ExpectedPrivacy {
  /** Its key in the configuration. */
  readonly key: string
  readonly path: string
}

/**
 * Looks at the owner and the mode of each file.
 *
 * @param onExposed called for each that others can read; the sidecar serves nevertheless
 * @throws ConfigError where others can change one
 */
export function expectPrivateFiles(config: Config, onExposed: (path: string, problem: string) => void): void {
  for (const { key, path, exposure } of exposedFiles(config)) {
    if (exposure.refused) throw new ConfigError(`${key}: ${path}: ${exposure.problem}`)
    onExposed(path, exposure.problem)
  }
}

export interface ExposedFile {
  /** Its key in the configuration. */
  readonly key: string
  readonly path: string
  readonly exposure: Exposure
}

/** The files that others can read or change although they should not. */
export function exposedFiles(config: Config): ExposedFile[] {
  return secretFilesOf(config).flatMap(({ key, path, ...expected }) => {
    const exposure = exposureIfThere(path, expected)
    return exposure === undefined ? [] : [{ key, path, exposure }]
  })
}

function secretFilesOf(config: Config): SecretFile[] {
  const { file, directory, grpc, http, egress, upstreams = {}, profiles = {}, callers = [] } = config
  const files: (Omit<SecretFile, 'path'> & { readonly path: string | undefined })[] = [
    // A user who can change the configuration can give rights to callers.
    {
      key: 'configuration',
      path: file,
      mayBeRead: file === undefined || directory.url === undefined || !holdsPassword(file),
    },
    { key: 'grpc.tls.key', path: grpc.tls?.key },
    // A process that can add an authority can be a client, or an upstream.
    { key: 'grpc.tls.client_ca', path: grpc.tls?.client_ca, mayBeRead: true },
    { key: 'http.tls.key', path: http.tls?.key },
    { key: 'directory.hub.token_file', path: directory.hub?.token_file },
    { key: 'directory.hub.tls.key', path: directory.hub?.tls?.key },
    // A process that can add an authority can be a hub.
    { key: 'directory.hub.tls.ca', path: directory.hub?.tls?.ca, mayBeRead: true },
    // The proxy may read the file too.
    { key: PROXY_SECRET_FILE, path: http.proxy_secret_file, groupMayRead: true },
    ...(['decision_log', 'traces'] as const).flatMap((key) => [
      { key: `${key}.otlp.authorization_file`, path: config[key].otlp.authorization_file },
      { key: `${key}.otlp.ca`, path: config[key].otlp.ca, mayBeRead: true },
    ]),
    ...(egress.routes ?? []).map(({ ca }, index) => ({
      key: `egress.routes[${index}].ca`,
      path: ca,
      mayBeRead: true,
    })),
    ...Object.entries(upstreams).map(([name, { ca }]) => ({
      key: `upstreams.${name}.ca`,
      path: ca,
      mayBeRead: true,
    })),
    ...Object.entries(profiles).flatMap(([name, profile]) =>
      PROFILE_SECRET_FILES.map((key) => ({ key: `profiles.${name}.${key}`, path: profile[key] })),
    ),
    // The program that is the caller reads the file too, often as another user of a common group.
    ...callers.map(({ token_file }, index) => ({
      key: `callers[${index}].token_file`,
      path: token_file,
      groupMayRead: true,
    })),
  ]
  return files.flatMap(({ path, ...rest }) => (path === undefined ? [] : [{ ...rest, path }]))
}

/** The reader of the file reports that it is missing. */
function exposureIfThere(path: string, expected: ExpectedPrivacy) {
  try {
    return exposureOf(path, expected)
  } catch {
    return undefined
  }
}

const PROXY_SECRET_FILE = 'http.proxy_secret_file'

/** As for caller tokens. */
const PROXY_SECRET_LENGTH_MIN = 32

/** The old one and the new one, while the proxies learn the new one. */
const PROXY_SECRETS_MAX = 2

/**
 * The secrets by which proxies prove themselves to the HTTP server, one in each line.
 *
 * @throws ConfigError that names the key and the file, but never quotes the file
 */
export function readProxySecrets(path: string): Secret[] {
  const lines = readSecretText(PROXY_SECRET_FILE, path)
    .split(/\r?\n/)
    .filter((line) => line !== '')
  if (lines.length === 0 || lines.length > PROXY_SECRETS_MAX)
    throw new ConfigError(
      `${PROXY_SECRET_FILE}: expected one or two secrets in ${path}, each in a separate line`,
    )
  for (const line of lines)
    if (line.length < PROXY_SECRET_LENGTH_MIN || !/^[\x21-\x7e]+$/.test(line))
      throw new ConfigError(
        `${PROXY_SECRET_FILE}: expected secrets of ${PROXY_SECRET_LENGTH_MIN} or more visible ASCII characters in ${path}`,
      )
  return lines.map((line) => new Secret(line))
}
