/**
 * Looks at the data folder: who may read it, whether there is room, and whether its keys and its pepper can
 * be used.
 */
import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { KEY_AGE_MS_MAX, readKeys, type SigningKey } from '../../authority/keys.ts'
import { fingerprintOf, pepperOf } from '../../authority/static-token.ts'
import { exposureOfFolder, PEPPER_FILE, SECRET_FILES, SIGNING_KEYS_FILE } from '../../base/data-folder.ts'
import { type Exposure, exposureOf } from '../../base/exposure.ts'
import type { Config } from '../../config/config.ts'
import { exposedFiles } from '../../config/secret-files.ts'
import { DAY_MS, type Finding, findingsOf } from './finding.ts'

/** A clock that is behind by more than this has jumped. */
const CLOCK_MS_MAX = 60_000
/** With less room a change of the directory may fail soon, in bytes. */
const ROOM_MIN = 256 * 1024 * 1024

export function permissionFindings(config: Config): Finding[] {
  const { ok, warning, error } = findingsOf('permissions')
  const of = (path: string, exposure: Exposure, folder = false) => {
    const fix = exposure.problem.startsWith('belongs')
      ? `chown it to the user of the sidecar: chown USER ${path}`
      : `chmod ${folder ? 700 : 600} ${path}`
    return (exposure.refused ? error : warning)(path, exposure.problem, fix)
  }
  const folder = existsSync(config.data) ? exposureOfFolder(config.data) : undefined
  const inFolder = SECRET_FILES.map((name) => join(config.data, name))
    .filter((path) => existsSync(path))
    .flatMap((path) => {
      // In a folder that no other user can enter, it does not matter who may read the files.
      const exposure = exposureOf(path, { mayBeRead: !folder?.shared })
      return exposure === undefined ? [] : [of(path, exposure)]
    })
  const found = [
    ...(folder?.exposure === undefined ? [] : [of(config.data, folder.exposure, true)]),
    ...inFolder,
    ...exposedFiles(config).map(({ path, exposure }) => of(path, exposure)),
  ]
  return found.length > 0 ? found : [ok(config.data, 'no other user can read or change a secret')]
}

export function diskFindings(folder: string): Finding[] {
  const { ok, warning } = findingsOf('disk')
  const { bavail, bsize } = statfsSync(folder)
  const mebibytes = `${Math.floor((bavail * bsize) / 1024 / 1024)} MiB are free`
  return [
    bavail * bsize < ROOM_MIN
      ? warning(
          folder,
          `${mebibytes}; changes are refused when the disk is full, and checks go on`,
          'free some space: see the runbook for a full disk in docs/operate/runbooks.md',
        )
      : ok(folder, mebibytes),
  ]
}

export function keyFindings(folder: string, nowMs: number): Finding[] {
  const { ok, error } = findingsOf('keys')
  const file = join(folder, SIGNING_KEYS_FILE)
  try {
    const keys = readKeys(file)
    const problems = problemsOfKeys(file, keys, nowMs)
    const active = keys.find(({ state }) => state === 'active')
    return problems.length > 0 ? problems : [ok(file, `${keys.length} keys, active: ${active?.keyId}`)]
  } catch (caught) {
    return [
      error(
        file,
        (caught as Error).message,
        'restore the file from a backup, or copy it from another host of this directory; then restart',
      ),
    ]
  }
}

function problemsOfKeys(file: string, keys: readonly SigningKey[], nowMs: number): Finding[] {
  const { warning } = findingsOf('keys')
  const ahead = keys.filter(({ sinceMs }) => sinceMs > nowMs + CLOCK_MS_MAX)
  const old = keys.filter(({ state, sinceMs }) => state === 'active' && nowMs - sinceMs > KEY_AGE_MS_MAX)
  const checksOnly = keys.every(({ privateKey }) => privateKey === undefined)
  return [
    ...ahead.map(({ keyId, sinceMs }) =>
      warning(
        file,
        `key ${keyId} is from the future (${new Date(sinceMs).toISOString()})`,
        'set the clock of this host',
      ),
    ),
    ...old.map(({ keyId, sinceMs }) =>
      warning(
        file,
        `key ${keyId} has signed for ${Math.floor((nowMs - sinceMs) / DAY_MS)} days`,
        checksOnly
          ? 'rotate the keys where tokens are signed, and copy the public keys from there'
          : 'portcullis keys rotate',
      ),
    ),
    ...(checksOnly || keys.some(({ state }) => state === 'staged')
      ? []
      : [warning(file, 'no key is staged, so the keys cannot be rotated', 'restore the file from a backup')]),
  ]
}

/** @returns the fingerprint of the pepper as well, where there is one */
export function pepperFindings(folder: string): { findings: Finding[]; fingerprint?: string } {
  const { ok, error } = findingsOf('pepper')
  const file = join(folder, PEPPER_FILE)
  const back = 'restore the file from a backup, or copy it from another host of this directory; then restart'
  if (!existsSync(file))
    return {
      findings: [
        error(file, 'it is missing; the next start makes a new one, and denies every static token', back),
      ],
    }
  try {
    const fingerprint = fingerprintOf(pepperOf(readFileSync(file, 'utf8'), file))
    return { findings: [ok(file, 'it can be used')], fingerprint }
  } catch (caught) {
    return { findings: [error(file, (caught as Error).message, back)] }
  }
}
