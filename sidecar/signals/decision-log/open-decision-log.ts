/** Opens the decision log of the configuration. Loaded only where there is one. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { PEPPER_FILE } from '../../base/data-folder.ts'
import type { Health } from '../../base/health.ts'
import { type Config, ConfigError } from '../../config/config.ts'
import type { DecisionLogSettings } from '../../config/decision-log-config.ts'
import { otlpOptionsOf } from '../../config/otlp.ts'
import type { Callers } from '../../usecases/callers.ts'
import type { Meters } from '../../usecases/decision-meters.ts'
import type { DecisionSearch } from '../../usecases/decision-search.ts'
import type { Destination } from '../backlog.ts'
import { DecisionLog } from './decision-log.ts'
import { LogFile } from './file.ts'
import { Fingerprints } from './fingerprints.ts'
import { openStandardOutput } from './stdout.ts'

export interface DecisionLogParts {
  readonly now: () => number
  readonly log: Logger
  readonly health: Health
  readonly callers: Pick<Callers, 'watch'>
  readonly meters: Meters | undefined
}

/**
 * Opens the log. The data folder must be open: the key of the fingerprints comes from it.
 *
 * @throws Error that names the file that cannot be opened
 */
export type OpenDecisionLog = (parts: DecisionLogParts) => Promise<DecisionLog>

/** Reads what the configuration says. @throws ConfigError that names the key */
export function readDecisionLog({ decision_log: settings, data, workers }: Config): OpenDecisionLog {
  // Long writes of several processes to a pipe would be mixed.
  if (settings.stdout && workers > 1)
    throw new ConfigError(
      'decision_log.stdout: expected a file or an endpoint where there are several workers',
    )
  const openDestination = destinationOf(settings)
  return async ({ callers, meters, ...parts }) => {
    const fingerprints = new Fingerprints(readFileSync(join(data, PEPPER_FILE), 'utf8'))
    const opened = new DecisionLog({
      ...{ ...parts, fingerprints },
      destination: await openDestination(parts.now),
      search: settings.file.path === undefined ? undefined : searchOf(settings.file.path, fingerprints),
      samplePercent: settings.sample_percent,
      required: settings.required,
      onDropped: meters?.countUnlogged(),
      bytesMax: settings.buffer_bytes,
    })
    callers.watch(() => opened.forgetAskers())
    return opened
  }
}

/** The code that searches is loaded with the first search. */
function searchOf(path: string, fingerprints: Fingerprints): DecisionSearch {
  return {
    fingerprintsOf: (token) => fingerprints.allOf(token),
    search: async (query, turn) => (await import('./search-turn.ts')).searchTurn(path, query, turn),
  }
}

type OpenDestination = (now: () => number) => Promise<Destination>

function destinationOf({ file, stdout, otlp }: DecisionLogSettings): OpenDestination {
  if ([file.path !== undefined, stdout, otlp.url !== undefined].filter(Boolean).length > 1)
    throw new ConfigError('decision_log: expected only one of file.path, stdout and otlp.url')
  if (otlp.url !== undefined) return otlpOf(otlp, otlp.url)
  if (file.path === undefined) return async () => openStandardOutput()
  const { path, max_bytes: bytesMax, max_age_ms: ageMsMax, keep } = file
  return async (now) => {
    const opened = new LogFile({ path, bytesMax, ageMsMax, keep, now })
    await opened.open()
    return opened
  }
}

function otlpOf(settings: DecisionLogSettings['otlp'], url: string): OpenDestination {
  const options = otlpOptionsOf('decision_log.otlp', url, settings, 'the lines say who asks for what')
  return async () => {
    const [{ logsRequest }, { OtlpEndpoint }, { OtlpSender }] = await Promise.all([
      import('./otlp-logs.ts'),
      import('../otlp-endpoint.ts'),
      import('../otlp-sender.ts'),
    ])
    return new OtlpSender({ endpoint: new OtlpEndpoint(options), requestOf: logsRequest })
  }
}
