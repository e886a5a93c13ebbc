/** What the embedded authority and its directory tell the log and the health of the sidecar. */
import type { Logger } from 'pino'
import type { ClockEvents } from '../../authority/control-panel/wrong-clock.ts'
import type { AuthorityEvents } from '../../authority/open-authority.ts'
import type { Health } from '../../base/health.ts'
import type { Config } from '../../config/config.ts'

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

/** Logs whether notifications of the shared directory arrive, and whether its database can be reached. */
export function directoryEvents({ directory }: Config, log: Logger, health: Health) {
  return {
    onListening: (on: boolean) => {
      if (on) log.info('receiving notifications of changes on other hosts')
      else
        log.warn(
          { staleness_ms: directory.staleness_ms },
          'no notifications of changes on other hosts; such changes take effect after the staleness bound',
        )
    },
    onReachable: (reachable: boolean) => {
      health.set('directory_unreachable', !reachable)
      if (reachable) log.info('the database of the directory answers again')
      else log.error('the database of the directory does not answer; the sidecar is not ready until it does')
    },
    onChangesLost: (lost: boolean) => {
      health.set('directory_changes_lost', lost)
      if (lost)
        log.fatal(
          'the database of the directory has lost changes that this sidecar has seen, possibly revocations; calls that need it fail until the changes are back, or a restore has ended the tokens of that time',
        )
      else log.info('the database of the directory has every change that this sidecar has seen')
    },
  }
}

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
