/** Opens the directory of a configuration for a moment, in another process than the sidecar's. */
import type { Administration } from '../authority/administration/administration.ts'
import { openEmbeddedAuthority } from '../authority/open.ts'
import { FailedLogins } from '../authority/throttle.ts'
import { type Config, sharedDirectoryOf } from '../config/config.ts'
import { warn } from './errors.ts'
import { readRules } from './rules.ts'

/**
 * Runs `work` on the directory, and closes it.
 *
 * @param json whether warnings are printed as JSON
 * @throws Error where the rules or the directory cannot be read
 */
export async function administerDirectory<T>(
  config: Config,
  work: (administration: Administration) => Promise<T>,
  json: boolean,
): Promise<T> {
  const { tokenKinds } = readRules(config).engine
  const opened = await openEmbeddedAuthority({
    folder: config.data,
    shared: sharedDirectoryOf(config),
    tokenKinds: () => tokenKinds.values(),
    passwordLimits: { concurrent: 2, waiting: 2 },
    failedLogins: new FailedLogins({ failures: 1, pauseMs: 1 }, Date.now),
    onKeysRefused: () => {},
    onKeysUnreadable: () => {},
    onDirectoryReplaced: () => {},
    onUnknownKey: () => {},
    onDirectoryLost: (file) => warn(`${file} is missing; an empty directory takes its place`, json),
    onForeignStaticTokens: ({ count, pepperFile }) =>
      warn(
        `${pepperFile}: static tokens that were hashed with another pepper: ${count}; copy the file from the host where they were created`,
        json,
      ),
    now: Date.now,
  })
  try {
    return await work(opened.administration)
  } finally {
    await opened.close()
  }
}
