/** Looks at whether requests pass that would be denied. */
import type { Config } from '../../config/config.ts'
import { endOf, isOver, type ObservedProxies, observedProxiesOf } from '../../config/observation-config.ts'
import { type Finding, findingsOf } from './finding.ts'

const KEY = 'proxies.mode'

export function proxyFindings(config: Config, nowMs: number): Finding[] {
  const { warning } = findingsOf('proxies')
  let observed: ObservedProxies | undefined
  try {
    observed = observedProxiesOf(config)
  } catch {
    // The check of the configuration says it.
    return []
  }
  if (observed === undefined) return []
  if (isOver(observed, nowMs))
    return [
      warning(
        KEY,
        `observe mode ended at ${config.proxies.observe_until}: requests that are denied do not pass`,
        'remove `proxies.mode` and `proxies.observe_until`',
      ),
    ]
  return [
    warning(
      KEY,
      `proxies are only observed, ${endOf(observed)}: every request passes, also without a credential`,
      observed.untilMs === undefined
        ? 'set `proxies.observe_until`, and `proxies.mode: enforce` when portcullis_would_deny_total stays still'
        : 'set `proxies.mode: enforce` when portcullis_would_deny_total stays still',
    ),
  ]
}
