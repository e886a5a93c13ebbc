/** What `doctor` finds: one line for each thing that it looked at. */

export interface Finding {
  readonly severity: 'ok' | 'warning' | 'error'
  /** What kind of thing was looked at. */
  readonly check: Check
  /** The file, address or key of the configuration. */
  readonly subject: string
  readonly message: string
  /** What a person can do about it. */
  readonly fix?: string
}

export type Check =
  | 'configuration'
  | 'environment'
  | 'permissions'
  | 'disk'
  | 'keys'
  | 'pepper'
  | 'directory'
  | 'hubs'
  | 'clock'
  | 'matrix'
  | 'certificates'
  | 'reachability'
  | 'proxies'
  | 'sidecar'

/** Makes findings of one check. */
export function findingsOf(check: Check) {
  const withFix =
    (severity: 'warning' | 'error') =>
    (subject: string, message: string, fix: string): Finding => ({
      severity,
      check,
      subject,
      message,
      fix,
    })
  return {
    ok: (subject: string, message: string): Finding => ({ severity: 'ok', check, subject, message }),
    warning: withFix('warning'),
    error: withFix('error'),
  }
}

export const DAY_MS = 86_400_000
