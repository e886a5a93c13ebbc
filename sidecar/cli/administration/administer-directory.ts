/** Opens the directory of a configuration for a moment, in another process than the sidecar's. */
import type { Administration } from '../../authority/administration/administration.ts'
import { type OpenedAuthority, openEmbeddedAuthority } from '../../authority/open-authority.ts'
import { FailedLogins } from '../../authority/throttle.ts'
import { type Config, knownFolderOf, sharedDirectoryOf } from '../../config/config.ts'
import { tokenNamesOf } from '../../config/token-names.ts'
import { readRules } from '../read-rules.ts'
import { warn } from '../terminal/errors.ts'

/**
 * Runs `work` on the directory, and closes it.
 *
 * @param json whether warnings are printed as JSON
 * @throws Error where the rules or the directory cannot be read
 */
export function administerDirectory<T>(
  config: Config,
  work: (administration: Administration) => Promise<T>,
  json: boolean,
): Promise<T> {
  return withAuthority(config, ({ administration }) => work(administration), json)
}

/** As `administerDirectory`, with the authority as well. */
export async function withAuthority<T>(
  config: Config,
  work: (opened: Pick<OpenedAuthority, 'authority' | 'administration'>) => Promise<T>,
  json: boolean,
): Promise<T> {
  const { engine } = readRules(config)
  const opened = await openEmbeddedAuthority({
    folder: config.data,
    shared: sharedDirectoryOf(config),
    knownFolder: knownFolderOf(config),
    tokenNames: config.tokens && tokenNamesOf(config.tokens),
    engine: () => engine,
    passwordLimits: { concurrent: 2, waiting: 2, rememberMs: 0 },
    failedLogins: new FailedLogins({ failures: 1, pauseMs: 1 }, Date.now),
    onKeysRefused: () => {},
    onKeysUnreadable: () => {},
    onDirectoryReplaced: () => {},
    onUnknownKey: () => {},
    onDirectoryLost: (file) => warn(`${file} is missing; an empty directory takes its place`, json),
    onPositionUnwritten: (error) => {
      if (error !== undefined)
        warn(`it cannot be kept which change this host knows: ${(error as Error).message}`, json)
    },
    onForeignStaticTokens: ({ count, pepperFile }) =>
      warn(
        `${pepperFile}: static tokens that were hashed with another pepper: ${count}; copy the file from the host where they were created`,
        json,
      ),
    now: Date.now,
  })
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}
