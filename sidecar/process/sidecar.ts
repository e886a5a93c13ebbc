/** The composition root: opens all parts of the sidecar, and closes them in the right order. */
import type { Logger } from 'pino'
import type { Administration } from '../authority/administration/administration.ts'
import type { LoginThrottle } from '../authority/throttle.ts'
import { Health, type HealthState } from '../base/health.ts'
import type { Metric } from '../base/metrics.ts'
import type { ConnectionSource } from '../base/net/connections.ts'
import { expectDescriptors } from '../base/net/descriptors.ts'
import { Turns } from '../base/turns.ts'
import { createAdministratorToken } from '../config/administrator-token.ts'
import { type Config, ConfigError, changeRatesOf } from '../config/config.ts'
import { type ConfiguredCaller, readCallers } from '../config/configured-callers.ts'
import { checkControlPanel } from '../config/control-panel.ts'
import { logsDecisions } from '../config/decision-log.ts'
import { grpcLimitsOf } from '../config/grpc-limits.ts'
import { readProfiles } from '../config/profiles.ts'
import { expectPrivateFiles } from '../config/secret-files.ts'
import { socketAccessOf } from '../config/socket-access.ts'
import { WatchedCredentials } from '../config/watched-credentials.ts'
import type { Siblings } from '../directory/open-directory.ts'
import type { HttpServices } from '../http/http-server.ts'
import { checkHttpOptions, type HttpTimeLimits } from '../http/options.ts'
import type { Rules } from '../rules/rules.ts'
import type { OpenDecisionLog } from '../signals/decision-log/open-decision-log.ts'
import { newLog } from '../signals/log/log.ts'
import type { OpenTraces } from '../signals/tracing/open-tracing.ts'
import { openRetention } from '../usecases/audit-retention.ts'
import { Callers } from '../usecases/callers.ts'
import { perCall } from '../usecases/capabilities.ts'
import { ChangeRates } from '../usecases/change-rates.ts'
import type { OperatorFacts } from '../usecases/control-panel/facts.ts'
import { Intake } from '../usecases/intake.ts'
import { Trace } from '../usecases/trace.ts'
import type { Diagnosed } from './diagnostics.ts'
import { openAuthority } from './open/authority.ts'
import { warnOfExposure } from './open/authority-events.ts'
import { type OpenCertificates, openCertificates } from './open/certificates.ts'
import type { OpenEgress, RoutedServices } from './open/egress.ts'
import { type GrpcServices, startGrpcServer } from './open/grpc.ts'
import { checkGrpcAddress } from './open/grpc-address.ts'
import { checkHealthAddress, openHealth, sourceOf } from './open/health.ts'
import { httpOptionsOf } from './open/http-options.ts'
import type { KnownKeys } from './open/key-facts.ts'
import { hasMetrics, openMetrics } from './open/metrics.ts'
import { Credentials, type CredentialsOptions, type TokenSiblings } from './open/profiles-in-force.ts'
import { checkMatrixAge, openRules } from './open/rules.ts'

/** A running server: one sidecar, or several of them in workers. */
export interface Serving {
  /** Address of gRPC: `HOST:PORT` or `unix:PATH`. */
  readonly grpcAddress: string
  /** Address of HTTP; `undefined` if it is off. */
  readonly httpAddress: string | undefined
  /** Address of egress: `HOST:PORT` or `unix:PATH`; `undefined` if it is off. */
  readonly egressAddress: string | undefined
  /** Address of the health listener: `HOST:PORT` or `unix:PATH`; `undefined` if it is off. */
  readonly healthAddress: string | undefined
  /** Digest of the current matrix. With workers it is the digest from the time when they became ready. */
  readonly matrixDigest: string
  /** Digest of the exact rules: of that matrix and the mode. */
  readonly rulesDigest: string
  /** Reads again the matrix file, the TLS certificates, the callers of the configuration and the secrets of proxies. */
  reload(): void
  /** Writes a snapshot for the operator into the data folder; with workers, one of each. */
  diagnose(): void
  /** Lets calls finish, then closes. May be called more than once. */
  close(): Promise<void>
}

/** A sidecar that runs in this process. */
export interface Sidecar extends Serving {
  readonly rules: Rules
  readonly administration: Administration
  /** The metrics of this process; none where they are off. */
  metrics(): readonly Metric[]
}

export interface StartOptions {
  /** Is told the health at each change. */
  readonly onHealth?: (state: HealthState) => void
  /** Whether metrics are counted; default: whether the configuration has a listener for them. */
  readonly metrics?: boolean
  /** Destination of log lines; default: standard error. */
  readonly log?: Logger
  /** Wall clock, in milliseconds since the epoch. */
  readonly now?: () => number
  /** Counts failed logins; default: a throttle of this process. */
  readonly failedLogins?: LoginThrottle
  /** Other processes on this host that use the same shared directory and the same upstreams; default: none. */
  readonly siblings?: Siblings & TokenSiblings
  /** Accepts the connections; default: this process does. */
  readonly connections?: ConnectionSource
  /** Times that are not part of the configuration. Tests shorten those that they would wait for. */
  readonly times?: {
    /** Time between two looks at the file of signing keys, in milliseconds; default: 1,000. */
    readonly keyPollMs?: number
    /** How slow an HTTP client may be; default: 5 seconds for the headers, 10 for the request. */
    readonly http?: Partial<HttpTimeLimits>
  }
}

/**
 * Starts one sidecar in this process. It ignores `workers` of the configuration.
 *
 * @throws ConfigError, MatrixError, or an Error that names the address or the file
 */
export async function startSidecar(config: Config, options: StartOptions = {}): Promise<Sidecar> {
  const { now = Date.now, log = newLog(config.log) } = options
  const { egressUnder, openDecisions, openTraces } = await checkConfig(config, log)
  const health = new Health(now, options.onHealth)
  await using opening = new AsyncDisposableStack()
  const metrics = opening.adopt(await openMetrics(options.metrics ?? hasMetrics(config)), closeIfOpen)
  const listener = opening.adopt(await openHealth(config, sourceOf(health, metrics)), closeIfOpen)
  // It is closed last: what ends has spans of its own.
  const tracing = opening.use(await openTraces?.({ log, meters: metrics?.meters }))
  const certificates = opening.adopt(openCertificates(config, log), (opened) => opened.close())
  const rules = opening.adopt(openRules(config, log, health), (opened) => opened.close())
  const routes = config.routes && (await import('./open/routes.ts')).openRoutes(config.routes, rules, log)
  const turns = new Turns()
  const parts = { rules, turns, tracer: tracing, log, health, now }
  const opened = await openAuthority(config, options, parts)
  opening.defer(opened.close)
  const { authority, administration, controlPanel, state } = opened
  const { callers, credentials, watch } = await openCredentials(config, {
    ...{ authority, administration, log, now, siblings: options.siblings, meters: metrics?.meters },
    tracer: tracing,
    engine: () => rules.engine,
  })
  opening.defer(() => credentials.close())
  opening.defer(() => watch.close())
  opening.use(openRetention(config, { administration, now, log }))
  const trace = opening.adopt(new Trace(log, undefined, metrics?.meters), (opened) => opened.close())
  const decisions = opening.use(await openDecisions?.({ now, log, health, callers }))
  const lasting = {
    ...{ authority, administration, controlPanel, callers, now },
    ...{ verifier: credentials.verifiers, upstreams: credentials, profiles: credentials.profiles },
    changeRates: new ChangeRates(changeRatesOf(config)),
  }
  const services = {
    ...lasting,
    forCall: perCall(rules, lasting),
    operatorFacts: operatorFactsOf({ config, authority: state, certificates }),
    cacheForMs: config.cache_for_ms,
    intake: new Intake(callers, controlPanel?.sessions),
    ...{ rules, routes, turns, decisions, tracing, log, trace, health, meters: metrics?.meters },
  }
  metrics?.watch({ ...services, authority: state, certificatesValidUntil: certificates.validUntil })
  const read = () => metrics?.read() ?? []
  const servers = await startServers(services, config, certificates, options, egressUnder?.(services))
  const open = opening.move()
  health.started()
  let closing: Promise<void> | undefined
  return {
    ...servers.addresses,
    healthAddress: listener?.address,
    get matrixDigest() {
      return rules.engine.digest
    },
    get rulesDigest() {
      return rules.engine.rulesDigest
    },
    rules,
    administration,
    metrics: read,
    reload: () => {
      for (const each of [rules, certificates, watch, servers]) each.reload()
    },
    diagnose: diagnoserOf({ config, health, rules, authority: state, certificates, metrics: read, log, now }),
    close: () => {
      closing ??= servers.close().then(() => open.disposeAsync())
      return closing
    },
  }
}

/** What tells of keys is loaded when somebody asks. */
function operatorFactsOf(known: KnownKeys & { readonly config: Config }): OperatorFacts {
  return {
    workers: known.config.workers,
    keys: async (nowMs) => (await import('./open/key-facts.ts')).keysViewOf(known, nowMs),
  }
}

function diagnoserOf(diagnosed: Diagnosed): () => void {
  return () => {
    import('./diagnostics.ts')
      .then(({ writeDiagnostics }) => writeDiagnostics(diagnosed))
      .catch((error: unknown) => diagnosed.log.error({ err: error }, 'no diagnostic snapshot can be made'))
  }
}

function closeIfOpen(opened: { close(): void } | undefined): void {
  opened?.close()
}

/** What opens the parts that may be off. Nothing is loaded for a part that is off. */
interface Checked {
  readonly egressUnder: ((services: RoutedServices) => OpenEgress) | undefined
  readonly openDecisions: OpenDecisionLog | undefined
  readonly openTraces: OpenTraces | undefined
}

/**
 * The configuration is checked first, so that nothing is opened for an invalid one.
 *
 * @throws ConfigError, or an Error that names the address or the file
 */
export async function checkConfig(config: Config, log: Logger): Promise<Checked> {
  checkGrpcAddress(config.grpc)
  socketAccessOf(config)
  checkHealthAddress(config)
  checkMatrixAge(config)
  checkControlPanel(config)
  await checkHttpOptions(httpOptionsOf(config))
  const profiles = new Set(readProfiles(config).profiles.keys())
  expectPrivateFiles(config, (file, problem) => warnOfExposure(log, file, problem))
  checkClients(config, readCallers(config.callers ?? [], profiles))
  const endpoint = config.traces.otlp.url
  return {
    egressUnder:
      config.egress.address === 'off'
        ? undefined
        : (await import('./open/egress.ts')).readEgress(config, profiles),
    openDecisions: logsDecisions(config.decision_log)
      ? (await import('../signals/decision-log/open-decision-log.ts')).readDecisionLog(config)
      : undefined,
    openTraces:
      endpoint === undefined
        ? undefined
        : (await import('../signals/tracing/open-tracing.ts')).readTraces(config, endpoint),
  }
}

/** The callers, the operator of the data folder, the profiles and the upstreams, followed as their files change. */
async function openCredentials(
  config: Config,
  options: CredentialsOptions,
): Promise<{ callers: Callers; credentials: Credentials; watch: WatchedCredentials }> {
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
  return { callers, credentials, watch }
}

/**
 * Whoever writes nothing must not let in every certificate that the authority ever signed.
 *
 * @throws ConfigError where no client could call
 */
function checkClients(config: Config, callers: readonly ConfiguredCaller[]): void {
  if (!mayAnyClientCall(config, callers))
    throw new ConfigError(
      'grpc.tls: expected the clients that may call: a caller with `certificate` in `callers`, or `grpc.tls.any_client: true` for every client with a certificate of grpc.tls.client_ca',
    )
}

function mayAnyClientCall({ grpc: { tls } }: Config, callers: readonly ConfiguredCaller[]): boolean {
  const mapped = callers.some(({ certificateName }) => certificateName !== undefined)
  return tls === undefined || tls.any_client === true || mapped
}

const PROFILES_REFUSED = 'the profiles and upstreams cannot be read again; the last good ones stay in force'

interface Servers {
  readonly addresses: Pick<Serving, 'grpcAddress' | 'httpAddress' | 'egressAddress'>
  reload(): void
  close(): Promise<void>
}

/** Starts gRPC, HTTP and egress. If one fails, none keeps running. */
async function startServers(
  services: GrpcServices & HttpServices,
  config: Config,
  certificates: OpenCertificates,
  { connections, times }: StartOptions,
  openEgress: OpenEgress | undefined,
): Promise<Servers> {
  const room = expectDescriptors(config)
  await using opening = new AsyncDisposableStack()
  const grpc = await startGrpcServer(services, {
    ...grpcLimitsOf(config, room.grpc),
    transport: config.grpc.transport,
    address: config.grpc.address,
    socket: socketAccessOf(config),
    anyClient: config.grpc.tls?.any_client ?? false,
    certificates: certificates.grpc,
    connections,
  })
  opening.defer(() => grpc.close(config.drain_ms))
  const contract =
    config.http.connect && config.http.address !== 'off'
      ? (await import('./open/contract.ts')).openContract(services, config, grpc.methods)
      : undefined
  const http =
    config.http.address === 'off'
      ? undefined
      : await (await import('../http/http-server.ts')).startHttpServer(services, {
          ...httpOptionsOf(config),
          contract: contract?.routes,
          certificates: certificates.http,
          connections,
          maxConnections: room.http,
          timeLimits: times?.http,
        })
  opening.defer(() => http?.close())
  const egress = await openEgress?.(config.egress.address, connections, room.egress, times?.http?.headersMs)
  opening.move()
  return {
    addresses: {
      grpcAddress: grpc.address,
      httpAddress: http?.address,
      egressAddress: egress?.address,
    },
    reload: () => http?.reload(),
    close: async () => {
      services.health.stop()
      await Promise.all([grpc, contract, egress].map((each) => each?.close(config.drain_ms)))
      await http?.close()
    },
  }
}
