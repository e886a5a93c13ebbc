/**
 * The snapshot of this process that `SIGUSR2` writes, for a person who must find out why it is slow, large or
 * unready. It holds no secret. A report of Node would: it has the environment and the command line. Loaded
 * for the first snapshot.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import type { Logger } from 'pino'
import type { AuthorityState } from '../authority/open-authority.ts'
import { writeWhole } from '../base/data-folder.ts'
import type { Health } from '../base/health.ts'
import type { Metric } from '../base/metrics.ts'
import { packageVersion } from '../base/package.ts'
import type { Config } from '../config/config.ts'
import { settingsShown } from '../config/effective.ts'
import { SCHEMA_VERSION } from '../directory/schema.ts'
import type { Rules } from '../rules/rules.ts'
import { droppedLogLines } from '../signals/log/log.ts'

/** The parts in the snapshot. */
export interface Diagnosed {
  readonly config: Config
  readonly health: Pick<Health, 'state'>
  readonly rules: Rules
  readonly authority: () => AuthorityState
  /** Until when they are valid, by listener, in milliseconds since the epoch. */
  readonly certificates: { validUntil(): Readonly<Record<string, number>> }
  readonly metrics: () => readonly Metric[]
  readonly log: Logger
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/**
 * Writes the snapshot to `diagnostics-PID.json` in the data folder, in the place of an earlier one. The log
 * says where. Never rejects.
 */
export function writeDiagnostics(diagnosed: Diagnosed): void {
  const { config, log } = diagnosed
  const file = join(config.data, `diagnostics-${process.pid}.json`)
  try {
    writeWhole(file, `${JSON.stringify(diagnosticsOf(diagnosed), null, 2)}\n`)
    log.info({ file }, 'a diagnostic snapshot was written')
  } catch (error) {
    log.warn({ file, problem: (error as Error).message }, 'the diagnostic snapshot cannot be written')
  }
}

function diagnosticsOf({ config, health, rules, authority, certificates, metrics, now }: Diagnosed): object {
  const { keys, waiting, cached } = authority()
  const { active, idle, utilization } = performance.eventLoopUtilization()
  const { engine, unconfirmedMs } = rules
  return {
    written_at: timeOf(now()),
    versions: {
      ...{ portcullis: packageVersion, directory: SCHEMA_VERSION },
      ...{ node: process.versions.node, openssl: process.versions.openssl },
    },
    machine: { platform: process.platform, architecture: process.arch },
    process: { pid: process.pid, uptime_seconds: Math.round(process.uptime()) },
    health: health.state,
    matrix: { digest: engine.digest, rules_digest: engine.rulesDigest, unconfirmed_ms: unconfirmedMs },
    settings: settingsShown(config),
    signing_keys: keys.map(({ state, sinceMs }) => ({ state, since: timeOf(sinceMs) })),
    certificates_valid_until: Object.fromEntries(
      Object.entries(certificates.validUntil()).map(([listener, ms]) => [listener, timeOf(ms)]),
    ),
    waiting,
    cached,
    // Connections are among them: `TCPSocketWrap` and `PipeWrap`.
    open: { descriptors: openDescriptors(), resources: countsOf(process.getActiveResourcesInfo()) },
    memory: { ...process.memoryUsage(), heap: getHeapStatistics() },
    processor: process.resourceUsage(),
    event_loop: { active_ms: Math.round(active), idle_ms: Math.round(idle), utilization },
    log_lines_dropped: droppedLogLines(),
    metrics: metrics(),
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}

function openDescriptors(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    // This system does not say.
    return undefined
  }
}

function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
