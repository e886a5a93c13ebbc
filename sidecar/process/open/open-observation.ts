/** Opens observe mode, and says that it is on where operators look. */
import type { Logger } from 'pino'
import type { Health } from '../../base/health.ts'
import type { Config } from '../../config/config.ts'
import { endOf, isOver, observedProxiesOf } from '../../config/observation-config.ts'
import type { Observation } from '../../proxies/observation.ts'
import type { Meters } from '../../usecases/decision-meters.ts'

interface Told {
  readonly log: Logger
  readonly health: Health
  readonly now: () => number
  readonly meters: Meters | undefined
}

/**
 * @returns undefined: requests that are denied do not pass, and nothing is loaded for it
 * @throws ConfigError
 */
export async function openObservation(config: Config, told: Told): Promise<Observation | undefined> {
  const { log, health, now, meters } = told
  const observed = observedProxiesOf(config)
  if (observed === undefined) return undefined
  if (isOver(observed, now())) {
    log.warn(
      { observe_until: config.proxies.observe_until },
      'proxies.observe_until has passed: requests of proxies that are denied do not pass',
    )
    return undefined
  }
  const { Observation } = await import('../../proxies/observation.ts')
  health.set('proxies_observed', true, observed.untilMs)
  log.warn(
    { observe_until: config.proxies.observe_until ?? 'never' },
    `proxies are only observed, ${endOf(observed)}: every request passes, also without a credential`,
  )
  return new Observation({
    untilMs: observed.untilMs,
    now,
    onEnd: (passed) => {
      health.set('proxies_observed', false)
      log.warn(
        { passed },
        'observe mode has ended: from now on, requests of proxies that are denied do not pass',
      )
    },
    onPassed: (protocol, reason) => meters?.wouldDeny(protocol, reason),
  })
}
