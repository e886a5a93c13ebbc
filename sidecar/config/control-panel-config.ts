/** The configuration of logins to the page. */
import { type Config, ConfigError } from './config.ts'
import { isOfThisMachine } from './this-machine.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** How long sessions last, in milliseconds; `undefined`: logins are off. */
export function sessionLimitsOf({
  http: { control_panel: panel },
}: Pick<Config, 'http'>): { readonly idleMs: number; readonly lifetimeMs: number } | undefined {
  if (panel === undefined) return undefined
  const { idle_minutes: idleMinutes = 30, lifetime_hours: lifetimeHours = 12 } = panel
  return { idleMs: idleMinutes * MINUTE_MS, lifetimeMs: lifetimeHours * HOUR_MS }
}

/** The faults that the schema of the configuration cannot find. @throws ConfigError */
export function checkControlPanel({ http }: Pick<Config, 'http'>): void {
  if (http.control_panel === undefined) return
  const missing = (['console', 'connect'] as const).filter((key) => !http[key])
  if (missing.length > 0)
    throw new ConfigError(
      `http.control_panel: expected ${missing.map((key) => `http.${key}: true`).join(' and ')} too; people log in to the page of http.console, which asks by http.connect`,
    )
  const { public_url: url } = http
  if (url === undefined || isOfThisMachine(url)) return
  if (!url.startsWith('https:'))
    throw new ConfigError(
      'http.control_panel: expected https in http.public_url, because passwords and sessions travel to it',
    )
  if (http.tls === undefined && (http.trusted_proxies ?? []).length === 0)
    throw new ConfigError(
      'http.control_panel: expected http.tls, or http.trusted_proxies with the proxy of http.public_url; otherwise all clients appear to come from this machine, and failed logins and address restrictions cannot distinguish them',
    )
}
