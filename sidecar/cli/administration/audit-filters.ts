/** The filters of the audit trail as options of a command: the same for a list and for an export. */
import type { Command } from 'commander'
import { TIME_HINT, timeFor } from '../terminal/times.ts'

export interface AuditFilters {
  readonly actor?: string
  readonly action?: string
  readonly subject?: string
  readonly since?: Date
  readonly until?: Date
}

export function addAuditFilters(command: Command): Command {
  return command
    .option('--actor <text>', 'only changes whose actor contains this text')
    .option('--action <text>', 'only actions that contain this text, for example token.revoke')
    .option('--subject <text>', 'only changes of subjects that contain this text')
    .option('--since <time>', `only changes at this time or later: ${TIME_HINT}`, timeFor('--since'))
    .option('--until <time>', 'only changes before this time', timeFor('--until'))
}

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
