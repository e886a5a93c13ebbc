/** The filters of the audit trail as options of a command: the same for a list and for an export. */
import { Option } from 'commander'
import { TIME_HINT, timeFor } from '../terminal/times.ts'

export interface AuditFilters {
  readonly actor?: string
  readonly action?: string
  readonly subject?: string
  readonly since?: Date
  readonly until?: Date
}

export const AUDIT_FILTERS = [
  new Option('--actor <text>', 'only changes whose actor contains this text'),
  new Option('--action <text>', 'only actions that contain this text, for example token.revoke'),
  new Option('--subject <text>', 'only changes of subjects that contain this text'),
  new Option('--since <time>', `only changes at this time or later: ${TIME_HINT}`).argParser(
    timeFor('--since'),
  ),
  new Option('--until <time>', 'only changes before this time').argParser(timeFor('--until')),
]

/** The fields of a request that the options set. */
export function filtersOf({ actor, action, subject, since, until }: AuditFilters): AuditFilters {
  return {
    ...(actor !== undefined && { actor }),
    ...(action !== undefined && { action }),
    ...(subject !== undefined && { subject }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  }
}
