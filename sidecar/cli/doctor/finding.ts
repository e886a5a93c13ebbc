/** A finding of `doctor`: one line for each part that it examined. */

export interface Finding {
  readonly severity: 'ok' | 'warning' | 'error'
  /** The kind of part that was examined. */
  readonly check: Check
  /** The file, address or key of the configuration. */
  readonly subject: string
  readonly message: string
  /** The remedy for a person. */
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
