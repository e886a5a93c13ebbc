/** The directory of a configuration, opened for a moment, as another process than the sidecar does. */
import type { Administration } from '../authority/administration/administration.ts'
import { openEmbeddedAuthority } from '../authority/open.ts'
import { FailedLogins } from '../authority/throttle.ts'
import { type Config, sharedDirectoryOf } from '../config/config.ts'
import { warn } from './output.ts'
import { readRules } from './rules.ts'

/** Runs `work` on the directory, and closes it. @throws Error where the rules or the directory cannot be read */
export async function administerDirectory<T>(
  config: Config,
  work: (administration: Administration) => Promise<T>,
): Promise<T> {
  const { tokenKinds } = readRules(config).engine
  const opened = await openEmbeddedAuthority({
    folder: config.data,
    shared: sharedDirectoryOf(config),
    tokenKinds: () => tokenKinds.values(),
    passwordLimits: { concurrent: 2, waiting: 2 },
    failedLogins: new FailedLogins({ failures: 1, pauseMs: 1 }, Date.now),
    onKeysRefused: () => {},
    onUnknownKey: () => {},
    onDirectoryLost: (file) =>
      warn(`${file} is gone; an empty directory takes its place, in which nobody is known`),
    onStrangeStaticTokens: ({ count, pepperFile }) =>
      warn(
        `${pepperFile}: static tokens that were hashed with another pepper: ${count}; copy the file from the host where they were created`,
      ),
    now: Date.now,
  })
  try {
    return await work(opened.administration)
  } finally {
    await opened.close()
  }
}
