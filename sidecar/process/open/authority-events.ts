/** The events of the embedded authority and its directory for the log and the health of the sidecar. */
import type { Logger } from 'pino'
import type { ClockEvents } from '../../authority/control-panel/wrong-clock.ts'
import type { AuthorityEvents } from '../../authority/open-authority.ts'
import type { Health } from '../../base/health.ts'
import type { Config } from '../../config/config.ts'
import type { Changes } from '../../directory/feed/changes.ts'

/** Others on this machine can read a file with a secret. */
export function warnOfExposure(log: Logger, file: string, problem: string): void {
  log.warn({ file, problem }, 'other users of this machine can access a secret of the sidecar')
}

/** Logs the events, and reports those that make the sidecar unhealthy. */
export function authorityEvents(log: Logger, health: Health): AuthorityEvents {
  return {
    onKeysRefused: (error) =>
      log.error(
        { problem: error.message },
        'the signing keys cannot be used; the last good ones stay in force',
      ),
    onKeysUnreadable: (unreadable) => {
      health.set('signing_keys_unreadable', unreadable)
      if (unreadable)
        log.error(
          'the signing keys have been unreadable for too long; checks of IAM tokens fail until they can be read',
        )
      else log.info('the signing keys are readable again')
    },
    onDirectoryReplaced: (file) => {
      health.set('directory_replaced', true)
      log.fatal(
        { directory: file },
        'the directory file was replaced while it was open; calls that need it fail until a restart',
      )
    },
    onDirectoryDamaged: (file, problem) => {
      health.set('directory_damaged', true)
      log.fatal(
        { directory: file, problem },
        'the directory file is damaged; calls that need it fail until a backup is restored',
      )
    },
    onExposed: (file, problem) => warnOfExposure(log, file, problem),
    onUnknownKey: (keyId) =>
      log.warn(
        { key_id: keyId },
        'an IAM token names a key that this host does not have, and is denied; hosts that share a directory need the same signing-keys.json',
      ),
    onDirectoryLost: (file) =>
      log.error(
        { directory: file },
        'the data folder was used before, but its directory is missing; an empty directory takes its place, with no accounts and no users',
      ),
    onForeignStaticTokens: ({ count, pepperFile }) =>
      log.error(
        { static_tokens: count, pepper: pepperFile },
        'static tokens were hashed with another pepper, and are denied here; copy the file from the host where they were created',
      ),
    onPositionUnwritten: (error) => {
      if (error === undefined) log.info('it can be kept again which change this sidecar knows')
      else
        log.error(
          { err: error },
          'it cannot be kept which change of the directory this sidecar knows, so a restart would not notice that changes are lost; `directory.known_folder` names a folder that can be written',
        )
    },
    onUsesUnwritten: (error) => {
      if (error === undefined) log.info('the days of last use of static tokens can be written again')
      else
        log.warn(
          { err: error },
          'the days of last use of static tokens cannot be written; they are kept, up to 10,000, and tried again at least once an hour',
        )
    },
  }
}

/** Logs whether notifications of the shared directory arrive. */
export function directoryEvents({ directory }: Config, log: Logger) {
  return {
    onListening: (on: boolean) => {
      if (on) log.info('receiving notifications of changes on other hosts')
      else
        log.warn(
          { staleness_ms: directory.staleness_ms },
          'no notifications of changes on other hosts; such changes take effect after the staleness bound',
        )
    },
  }
}

/**
 * The health says whether a shared directory, or the hub, can be asked now, and the log when that changes.
 *
 * @returns what ends that
 */
export function followOutages(
  changes: Pick<Changes, 'outage' | 'latest'>,
  log: Logger,
  health: Health,
): () => void {
  return health.lookWith(() => {
    const outage = changes.outage()
    const isLost = outage?.row.lacksChanges === true
    const isSilent = outage !== undefined && !isLost
    if (health.set('directory_changes_lost', isLost)) {
      if (isLost)
        log.fatal(
          { change: changes.latest()?.sequence, runbook: LOST },
          'the directory has lost changes that this sidecar has seen, possibly revocations; do not restart: calls that need it fail until the changes are back, or a restore has ended the tokens of that time',
        )
      else if (!isSilent) log.info('the directory has every change that this sidecar has seen')
    }
    if (health.set('directory_unreachable', isSilent)) {
      if (isSilent)
        log.error(
          { err: outage?.cause },
          'the directory does not answer; the sidecar is not ready until it does',
        )
      else if (!isLost) log.info('the directory answers again')
    }
  })
}

const LOST = 'docs/operate/postgresql.md#runbook-changes-are-lost'

/** Logs what ended because a clock was ahead. */
export function clockEvents(log: Logger): ClockEvents {
  return {
    onEnded: (ended) =>
      log.warn(
        ended,
        'sessions and links of the control panel were dated in the future, so a clock was wrong; they have ended',
      ),
    onFailed: (error) =>
      log.warn(
        { err: error },
        'sessions and links dated in the future cannot be ended; the sidecar tries again',
      ),
  }
}
