/**
 * Looks at the directory, and compares the clock of this host with it. It is read, and neither changed nor
 * migrated.
 */
import { existsSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { DIRECTORY_FILE, PEPPER_FILE } from '../../base/data-folder.ts'
import { type Config, knownFolderOf, sharedDirectoryOf } from '../../config/config.ts'
import { knownIn } from '../../directory/feed/known-position.ts'
import { type DirectoryState, inspectDirectory } from '../../directory/inspect.ts'
import { DamagedDirectory, nameOf, URL_KEY } from '../../directory/snapshot.ts'
import { type Finding, findingsOf } from './finding.ts'

/** A token that seems to be issued further in the future is not genuine. */
const CLOCK_MS_MAX = 60_000
const CLOCK_MS_WORTH_SAYING = 2_000

/**
 * @param pepper fingerprint of the pepper of this host, where there is one
 * @returns the digest of the promoted matrix as well, where there is one
 */
export async function directoryFindings(
  config: Config,
  pepper: string | undefined,
  now: () => number,
): Promise<{ findings: Finding[]; promotedDigest?: string | undefined }> {
  const { warning, error } = findingsOf('directory')
  const shared = sharedDirectoryOf(config)
  const file = join(config.data, DIRECTORY_FILE)
  const subject = nameOf({ file, shared })
  if (shared === undefined && !existsSync(file))
    return {
      findings: [
        warning(
          subject,
          'it is missing; the next start makes an empty one, with no accounts and no users',
          'portcullis restore FILE, unless this folder is new',
        ),
      ],
    }
  let state: DirectoryState
  const beforeMs = now()
  try {
    const known = shared && knownIn(knownFolderOf(config))
    state = await inspectDirectory({ file, shared }, { pepper, known, whole: true })
  } catch (caught) {
    const fix =
      shared === undefined
        ? fixOf(caught, config.data)
        : 'check that PostgreSQL is running and can be reached from here, and that the URL is right'
    // Its errors quote neither the URL nor a row.
    return { findings: [error(subject, (caught as Error).message, fix)] }
  }
  const { lostChange, foreignStaticTokens, asynchronousStandbys, promotedDigest } = state
  const findings = [
    versionFinding(subject, state),
    ...(lostChange === undefined
      ? []
      : [
          error(
            subject,
            `it lacks change ${lostChange}, which this host knows of; revocations may be lost with it`,
            'do not restart; end the tokens of the lost time: docs/operate/postgresql.md#runbook-changes-are-lost',
          ),
        ]),
    ...(asynchronousStandbys > 0
      ? [
          warning(
            subject,
            'PostgreSQL acknowledges changes before a standby has them; a failover can lose a revocation',
            'set synchronous_standby_names on the primary: docs/operate/postgresql.md',
          ),
        ]
      : []),
    ...(foreignStaticTokens > 0
      ? [
          findingsOf('pepper').error(
            join(config.data, PEPPER_FILE),
            `${foreignStaticTokens} static tokens were hashed with another pepper, and are denied here`,
            'copy the file from the host where they were created, or from a backup, and restart',
          ),
        ]
      : []),
    ...clockFindings(state, beforeMs, now()),
    ...setBackFindings(state),
  ]
  return { findings, promotedDigest }
}

/** A restoration undoes changes, so it is for a directory that is damaged. */
function fixOf(error: unknown, folder: string): string {
  if (error instanceof DamagedDirectory) return 'stop the sidecar, then portcullis restore FILE --replace'
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize < READING_BYTES
    ? 'free some space on that disk, and run portcullis doctor again; the directory may be whole'
    : 'remove the cause that the message names, and run portcullis doctor again; the directory may be whole'
}

/** The space that SQLite needs beside the file to read it. */
const READING_BYTES = 1_048_576

function versionFinding(subject: string, { version, expectedVersion }: DirectoryState): Finding {
  const { ok, warning, error } = findingsOf('directory')
  if (version > expectedVersion)
    return error(
      subject,
      `version ${version}, this Portcullis reads ${expectedVersion} or earlier`,
      'install the newer Portcullis that wrote it',
    )
  return version < expectedVersion
    ? warning(
        subject,
        `version ${version}; the next start upgrades it to ${expectedVersion}`,
        'portcullis backup FILE, then portcullis migrate',
      )
    : ok(subject, `version ${version}, intact`)
}

/** @param beforeMs when the database was asked @param afterMs when it had answered */
function clockFindings(
  { clockMs, lastChangeAtMs }: DirectoryState,
  beforeMs: number,
  afterMs: number,
): Finding[] {
  const { ok, warning, error } = findingsOf('clock')
  const fix = 'synchronise the clocks, for example with chrony'
  if (clockMs !== undefined) {
    const apartMs = Math.max(beforeMs - clockMs, clockMs - afterMs, 0)
    const text = `the clocks of this host and of PostgreSQL differ by ${(apartMs / 1000).toFixed(1)} s`
    if (apartMs > CLOCK_MS_MAX) return [error(URL_KEY, `${text}; new tokens may be denied`, fix)]
    return [apartMs > CLOCK_MS_WORTH_SAYING ? warning(URL_KEY, text, fix) : ok(URL_KEY, text)]
  }
  if (lastChangeAtMs === undefined || lastChangeAtMs <= afterMs + CLOCK_MS_MAX)
    return [ok('this host', 'not behind the last change of the directory')]
  return [
    error(
      'this host',
      `it is ${new Date(afterMs).toISOString()}, and the last change of the directory is from ${new Date(lastChangeAtMs).toISOString()}`,
      fix,
    ),
  ]
}

/**
 * Tokens live by the clock: of one that went back, some live longer, and new ones may be denied elsewhere.
 */
function setBackFindings({ setBack }: DirectoryState): Finding[] {
  if (setBack === undefined) return []
  const [from, to] = [setBack.fromMs, setBack.toMs].map((ms) => new Date(ms).toISOString())
  return [
    findingsOf('clock').warning(
      'the audit trail',
      `a clock was set back: the change after that of ${from} is from ${to}`,
      'slew the clock instead of setting it, for example with chrony; with several hosts, compare their clocks',
    ),
  ]
}
