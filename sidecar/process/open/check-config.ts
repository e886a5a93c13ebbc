/** The configuration is checked first, so that nothing is opened for an invalid one. */
import type { Logger } from 'pino'
import { isLoopback, parseAddress } from '../../base/address.ts'
import { type Config, ConfigError } from '../../config/config.ts'
import { type ConfiguredCaller, readCallers } from '../../config/configured-callers.ts'
import { checkControlPanel } from '../../config/control-panel-config.ts'
import { logsDecisions } from '../../config/decision-log-config.ts'
import { hubOf } from '../../config/hub-config.ts'
import { observedProxiesOf } from '../../config/observation-config.ts'
import { readProfiles } from '../../config/profiles-config.ts'
import { expectPrivateFiles } from '../../config/secret-files.ts'
import { socketAccessOf } from '../../config/socket-access.ts'
import { checkHttpOptions } from '../../http/options.ts'
import type { OpenDecisionLog } from '../../signals/decision-log/open-decision-log.ts'
import type { OpenTraces } from '../../signals/tracing/open-tracing.ts'
import { warnOfExposure } from './authority-events.ts'
import { httpOptionsOf } from './http-options.ts'
import type { ReadEgress } from './open-egress.ts'
import { checkHealthAddress } from './open-health.ts'
import { checkMatrixAge } from './open-rules.ts'
import { type ProblemsUnder, problemsOfRoutes } from './under-matrix.ts'

/** The functions that open the parts that may be off. Nothing is loaded for a part that is off. */
interface Checked {
  readonly egress: ReadEgress | undefined
  readonly problemsUnder: ProblemsUnder
  readonly openDecisions: OpenDecisionLog | undefined
  readonly openTraces: OpenTraces | undefined
}

/** @throws ConfigError, or an Error that names the address or the file */
export async function checkConfig(config: Config, log: Logger): Promise<Checked> {
  checkGrpcAddress(config.grpc)
  socketAccessOf(config)
  checkHealthAddress(config)
  checkMatrixAge(config)
  checkControlPanel(config)
  observedProxiesOf(config)
  const hub = hubOf(config)
  hub?.token()
  hub?.tls()
  await checkHttpOptions(httpOptionsOf(config))
  const profiles = new Set(readProfiles(config).profiles.keys())
  expectPrivateFiles(config, (file, problem) => warnOfExposure(log, file, problem))
  checkClients(config, readCallers(config.callers ?? [], profiles))
  const endpoint = config.traces.otlp.url
  const egress =
    config.egress.address === 'off'
      ? undefined
      : (await import('./open-egress.ts')).readEgress(config, profiles)
  return {
    egress,
    problemsUnder: (engine) => [
      ...problemsOfRoutes(config, engine),
      ...(egress?.problemsUnder(engine) ?? []),
    ],
    openDecisions: logsDecisions(config.decision_log)
      ? (await import('../../signals/decision-log/open-decision-log.ts')).readDecisionLog(config)
      : undefined,
    openTraces:
      endpoint === undefined
        ? undefined
        : (await import('../../signals/tracing/open-tracing.ts')).readTraces(config, endpoint),
  }
}

/**
 * @throws Error if the address is invalid, if other machines can reach it without TLS, or if a Unix socket
 *   has TLS
 */
function checkGrpcAddress({ address, tls }: Config['grpc']): void {
  const parsed = parseAddress('grpc.address', address)
  // An operator who configured TLS expects client certificates, and a Unix socket asks for none.
  if (parsed.type === 'unix' && tls !== undefined)
    throw new Error(
      `grpc.address ${address} and grpc.tls: a Unix socket has no TLS; expected HOST:PORT in grpc.address, or no grpc.tls`,
    )
  if (parsed.type === 'tcp' && !isLoopback(parsed.host) && tls === undefined)
    throw new Error(
      `grpc address ${address} can be reached from other machines: expected grpc.tls, which requires client certificates`,
    )
}

/**
 * A configuration without the key must not admit every certificate that the authority ever signed.
 *
 * @throws ConfigError where no client could call
 */
function checkClients(config: Config, callers: readonly ConfiguredCaller[]): void {
  if (!mayAnyClientCall(config, callers))
    throw new ConfigError(
      'grpc.tls: expected the clients that may call: a caller with `certificate` in `callers`, or `grpc.tls.any_client: true` for every client with a certificate of grpc.tls.client_ca',
    )
}

export function mayAnyClientCall({ grpc: { tls } }: Config, callers: readonly ConfiguredCaller[]): boolean {
  const mapped = callers.some(({ certificateName }) => certificateName !== undefined)
  return tls === undefined || tls.any_client === true || mapped
}
