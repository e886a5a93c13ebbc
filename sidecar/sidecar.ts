/** The composition root: opens everything that the sidecar is made of, and closes it in the right order. */
import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import type { Administration } from './authority/administration.ts'
import { openEmbeddedAuthority } from './authority/open.ts'
import { FailedLogins, type LoginThrottle } from './authority/throttle.ts'
import { Secret } from './base/secret.ts'
import { type Config, ConfigError, sharedDirectoryOf, throttleLimitsOf } from './config/config.ts'
import type { Siblings } from './directory/open.ts'
import { checkGrpcAddress } from './grpc/listen.ts'
import { type GrpcServer, startGrpcServer } from './grpc/server.ts'
import { checkHttpOptions, type HttpOptions, type HttpServer, startHttpServer } from './http/server.ts'
import { newLog } from './log.ts'
import { Rules } from './rules.ts'
import { type Caller, Callers } from './usecases/callers.ts'
import type { Profile } from './usecases/issue.ts'

/** What serves on the addresses of a configuration: a sidecar, or several of them in workers. */
export interface Serving {
  /** Where gRPC listens: `HOST:PORT` or `unix:PATH`. */
  readonly grpcAddress: string
  /** Where HTTP listens; `undefined` where it is off. */
  readonly httpAddress: string | undefined
  /** Digest of the matrix: of the one in force now, or where there are workers, when they were ready. */
  readonly matrixDigest: string
  /** Reads the matrix file again. */
  reload(): void
  /** Lets calls finish, then closes. Safe to call twice. */
  close(): Promise<void>
}

/** A sidecar that runs in this process. */
export interface Sidecar extends Serving {
  readonly rules: Rules
  readonly administration: Administration
}

export interface StartOptions {
  /** Where log lines go; default: standard error. */
  readonly log?: Logger
  /** Wall clock, in milliseconds since the epoch. */
  readonly now?: () => number
  /** Who counts failed logins; default: this process. */
  readonly failedLogins?: LoginThrottle
  /** Other processes of this host on the same shared directory; default: none. */
  readonly siblings?: Siblings
  /** Whether another worker of this sidecar listens on the addresses already, so that a socket that answers is its own. */
  readonly addressesHeld?: boolean
}

/** Starts one sidecar, in this process, whatever `workers` says. @throws ConfigError, MatrixError, or an Error that names the address or the file */
export async function startSidecar(config: Config, options: StartOptions = {}): Promise<Sidecar> {
  const now = options.now ?? Date.now
  const log = options.log ?? newLog(config.log_level)
  // First what can be told from the configuration alone: nothing is opened for one that cannot be served.
  checkGrpcAddress(config.grpc)
  checkHttpOptions(httpOptionsOf(config))
  const profiles = readProfiles(config)
  const callers = readCallers(config, profiles)
  await using opening = new AsyncDisposableStack()
  const rules = new Rules({
    path: config.matrix,
    strict: config.strict,
    pollMs: config.matrix_poll_ms,
    onRefused: (error) =>
      log.error(
        { matrix: config.matrix, problem: error.message },
        'the matrix file cannot be used; the last good one stays in force',
      ),
  })
  opening.defer(() => rules.close())
  rules.watch((engine) => log.info({ matrix_digest: engine.digest }, 'another matrix is in force'))
  const shared = sharedDirectoryOf(config)
  const opened = await openEmbeddedAuthority({
    folder: config.data,
    shared: shared && {
      ...shared,
      siblings: options.siblings,
      onListening: (on) => {
        if (on) log.info('changes of other hosts are heard of')
        else
          log.warn(
            { staleness_ms: shared.stalenessMs },
            'changes of other hosts are not heard of; they count after the staleness bound',
          )
      },
    },
    tokenKinds: () => rules.engine.tokenKinds.values(),
    passwordLimits: config.passwords,
    onKeysRefused: (error) =>
      log.error(
        { problem: error.message },
        'the signing keys cannot be used; the last good ones stay in force',
      ),
    onUnknownKey: (keyId) =>
      log.warn(
        { key_id: keyId },
        'an IAM token names a key that this host does not have, and is denied; hosts that share a directory need the same signing-keys.json',
      ),
    onDirectoryLost: (file) =>
      log.warn(
        { directory: file },
        'the folder was in use and its directory is gone; an empty one takes its place, in which nobody is known',
      ),
    onStrangeStaticTokens: ({ count, pepperFile }) =>
      log.warn(
        { static_tokens: count, pepper: pepperFile },
        'static tokens were hashed with another pepper, and are denied here; copy the file from the host where they were created',
      ),
    failedLogins: options.failedLogins ?? new FailedLogins(throttleLimitsOf(config), now),
    now,
  })
  opening.defer(() => opened.close())
  const administrator: Caller = {
    name: 'administrator',
    profiles: new Set(profiles.keys()),
    administrator: true,
  }
  const services = {
    rules,
    authority: opened.authority,
    administration: opened.administration,
    callers: new Callers([...callers, { token: opened.administratorToken, caller: administrator }]),
    profiles,
    cacheForMs: config.cache_for_ms,
    now,
    log,
  }

  const open = opening.move()
  let grpc: GrpcServer | undefined
  let http: HttpServer | undefined
  const close = async () => {
    http?.stopBeingReady()
    await grpc?.close(config.drain_ms)
    await http?.close()
    await open.disposeAsync()
  }
  try {
    grpc = await startGrpcServer(services, {
      address: config.grpc.address,
      tls: config.grpc.tls,
      maxMessageBytes: config.grpc.max_message_bytes,
      maxConcurrentStreams: config.grpc.max_concurrent_streams,
      maxBatchLength: config.grpc.max_batch_length,
      maxConnectionIdleMs: config.grpc.max_connection_idle_ms,
      maxConnectionAgeMs: config.grpc.max_connection_age_ms,
      addressHeld: options.addressesHeld ?? false,
    })
    if (config.http.address !== 'off') http = await startHttpServer(services, httpOptionsOf(config))
  } catch (error) {
    await close()
    throw error
  }

  let closing: Promise<void> | undefined
  return {
    grpcAddress: grpc.address,
    httpAddress: http?.address,
    get matrixDigest() {
      return rules.engine.digest
    },
    rules,
    administration: opened.administration,
    reload: () => rules.reload(),
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

function httpOptionsOf({ http }: Config): HttpOptions {
  return {
    address: http.address,
    publicUrl: http.public_url,
    region: http.region,
    catalog: http.catalog ?? [],
    trustedProxies: http.trusted_proxies ?? [],
  }
}

function readProfiles(config: Config): Map<string, Profile> {
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

function readCallers(
  config: Config,
  profiles: ReadonlyMap<string, Profile>,
): { token: Secret; caller: Caller }[] {
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
        administrator: caller.administrator === true,
      },
    }
  })
}

/** The first line of a file; an error names the key and the file, never what is in it. */
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
