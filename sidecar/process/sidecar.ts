/** The composition root: opens the parts of the sidecar in this order, and closes them in the reverse one. */
import { Health } from '../base/health.ts'
import { Turns } from '../base/turns.ts'
import { type Config, changeRatesOf } from '../config/config.ts'
import { newLog } from '../signals/log/log.ts'
import { run } from '../usecases/administration/run.ts'
import { answerBasisOf } from '../usecases/answer-basis.ts'
import { perCall } from '../usecases/capabilities.ts'
import { ChangeRates } from '../usecases/change-rates.ts'
import { Intake } from '../usecases/intake.ts'
import { Retention } from '../usecases/retention.ts'
import { Trace } from '../usecases/trace.ts'
import type { Diagnosed } from './diagnostics.ts'
import { openCredentials } from './open/callers-and-profiles.ts'
import { checkConfig } from './open/check-config.ts'
import { openAuthority } from './open/configured-authority.ts'
import { openCertificates } from './open/open-certificates.ts'
import { openHealth, sourceOf } from './open/open-health.ts'
import { hasMetrics, openMetrics } from './open/open-metrics.ts'
import { openObservation } from './open/open-observation.ts'
import { openRules } from './open/open-rules.ts'
import { startServers } from './open/open-servers.ts'
import { openShadow } from './open/open-shadow.ts'
import { openPromotion } from './open/promotion.ts'
import { followMatrix } from './open/under-matrix.ts'
import type { Sidecar, StartOptions } from './serving.ts'

/**
 * Starts one sidecar in this process. It ignores `workers` of the configuration.
 *
 * @throws ConfigError, MatrixError, or an Error that names the address or the file
 */
export async function startSidecar(config: Config, options: StartOptions = {}): Promise<Sidecar> {
  const { now = Date.now, log = newLog(config.log), siblings } = options
  const { egress, problemsUnder, openDecisions, openTraces } = await checkConfig(config, log)
  const health = new Health(now, options.onHealth)
  await using opening = new AsyncDisposableStack()
  const metrics = opening.adopt(await openMetrics(options.metrics ?? hasMetrics(config)), close)
  const meters = metrics?.meters
  const listener = opening.adopt(await openHealth(config, sourceOf(health, metrics, log)), close)
  // It is closed last: ending parts have their own spans.
  const tracing = opening.use(await openTraces?.({ log, meters }))
  const certificates = opening.adopt(openCertificates(config, log), close)
  const rules = opening.adopt(openRules(config, log, health), close)
  const routes = config.routes && (await import('./open/open-routes.ts')).openRoutes(config)
  const common = { rules, turns: new Turns(), tracer: tracing, log, health, now, meters, siblings }
  const shadow = opening.adopt(await openShadow(config, { ...common, problemsUnder }), close)
  const opened = opening.adopt(await openAuthority(config, options, common), close)
  const { authority, administration, controlPanel, changes, promoted, trusted, forward, state } = opened
  const promotion = opening.adopt(await openPromotion({ promoted, rules, log, health }), close)
  followMatrix(problemsUnder, { rules, log, isOwn: !options.again && promotion.isOwn })
  const known = { ...common, authority, administration, engine: () => rules.engine }
  const credentials = opening.adopt(await openCredentials(config, known), close)
  const { callers, profiles, verifiers: verifier, upstreams } = credentials
  const retention = forward === undefined ? opening.use(new Retention(config, known)) : undefined
  const trace = opening.adopt(new Trace(log, undefined, meters), close)
  const decisions = opening.use(await openDecisions?.({ now, log, health, callers, meters }))
  const observation = opening.adopt(await openObservation(config, { log, health, now, meters }), close)
  const lasting = {
    ...{ authority, administration, controlPanel, callers, profiles, verifier, upstreams, now },
    changeRates: new ChangeRates(changeRatesOf(config)),
    rollout: promotion.rollout(shadow),
  }
  const facts = { config, health, rules, authority: state, certificates, log, now }
  const services = {
    ...{ ...lasting, rules, routes, turns: common.turns, health, log, trace, meters, decisions, tracing },
    ...{ observation, shadow, changes, promoted, forward },
    basis: answerBasisOf(trusted),
    forCall: perCall(rules, lasting),
    cacheForMs: config.cache_for_ms,
    intake: new Intake(callers, controlPanel?.sessions),
    operatorFacts: {
      ...{ workers: config.workers, left: () => retention?.left },
      keys: async (nowMs: number) => (await import('./open/key-facts.ts')).keysViewOf(facts, nowMs),
    },
  }
  metrics?.watch({ ...services, authority: state, certificatesValidUntil: certificates.validUntil })
  const read = () => metrics?.read() ?? []
  const servers = await startServers(services, config, certificates, options, egress?.openerFor(services))
  const open = opening.move()
  health.started()
  let closing: Promise<void> | undefined
  return {
    ...{ ...servers.addresses, healthAddress: listener?.address, rules, administration, metrics: read },
    run: (...asked) => run(administration, ...asked),
    get matrixDigest() {
      return rules.engine.digest
    },
    get rulesDigest() {
      return rules.engine.rulesDigest
    },
    ...{ shadow, shadowDigest: shadow?.engine.digest },
    reload: () => {
      for (const each of [rules, shadow, certificates, credentials, servers]) each?.reload()
    },
    diagnose: () => diagnose({ ...facts, metrics: read }),
    close: () => {
      closing ??= servers.close().then(() => open.disposeAsync())
      return closing
    },
  }
}

function close(part: { close(): Promise<void> | void } | undefined): Promise<void> | void {
  return part?.close()
}

/** The code that writes the snapshot is loaded for the first one. */
function diagnose(diagnosed: Diagnosed): void {
  import('./diagnostics.ts')
    .then(({ writeDiagnostics }) => writeDiagnostics(diagnosed))
    .catch((error: unknown) => diagnosed.log.error({ err: error }, 'no diagnostic snapshot can be made'))
}
