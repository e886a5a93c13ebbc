/**
 * The others who may read or change a file with a secret, by its owner and its mode. Links are followed,
 * because Kubernetes mounts the files of a secret as links.
 */
import { accessSync, constants, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

export interface Exposure {
  /** Whether the file must not be used: others can change it. Being read by others is a reason to warn. */
  readonly refused: boolean
  /** For a message that begins with the path. */
  readonly problem: string
}

export interface ExpectedPrivacy {
  /**
   * Whether its readers do not matter, for example because no other user can enter the folder. Default: they
   * do.
   */
  readonly mayBeRead?: boolean
  /** Whether the group may read it, because the file is shared with another program on purpose. */
  readonly groupMayRead?: boolean
}

/**
 * `undefined`: no other user may read or change it, or the platform has no such modes.
 *
 * @throws Error if there is no such file
 */
export function exposureOf(path: string, expected: ExpectedPrivacy = {}): Exposure | undefined {
  const user = process.geteuid?.()
  if (user === undefined) return undefined
  const stats = statSync(path)
  const found = exposure(stats, user, expected)
  return found?.refused || stats.isDirectory() ? found : (replacedIn(path) ?? found)
}

/**
 * Whether every user can put another file, or another folder with one, in the place of this: where it is, and
 * where a link to it is.
 */
function replacedIn(path: string): Exposure | undefined {
  for (const place of new Set([resolve(path), realpathSync(path)]))
    for (
      let folder = dirname(place), inner = place;
      folder !== inner;
      inner = folder, folder = dirname(folder)
    ) {
      const { mode } = statSync(folder)
      if (!(mode & 0o002) || mode & STICKY || isReadOnly(folder)) continue
      const octal = (mode & 0o7777).toString(8).padStart(4, '0')
      const problem = `every user of this machine can replace it: its folder ${folder} has mode ${octal}; expected mode 0755`
      return { refused: true, problem }
    }
  return undefined
}

/** The bit of a folder in which users cannot remove or rename the files of others. */
export const STICKY = 0o1000

/** Whether its file system is read-only, as the volumes of Kubernetes for secrets and settings are. */
export function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS'
  }
}

/** @param user who runs this process */
export function exposure(
  { uid, mode }: Pick<Stats, 'uid' | 'mode'>,
  user: number,
  { mayBeRead = false, groupMayRead = false }: ExpectedPrivacy,
): Exposure | undefined {
  const isFolder = (mode & constants.S_IFMT) === constants.S_IFDIR
  // A process that may enter a folder can open the files whose names it knows.
  const [others, group] = isFolder ? [0o005, 0o050] : [0o004, 0o040]
  const found = `(mode ${(mode & 0o7777).toString(8).padStart(4, '0')}); expected mode ${isFolder ? '0700' : '0600'}`
  if (mode & 0o002) return { refused: true, problem: `every user of this machine can change it ${found}` }
  // Root can change everything anyway. A process of root is often in a container with files of a user
  // outside.
  if (uid !== user && uid !== 0)
    return {
      refused: user !== 0,
      problem: `belongs to another user (uid ${uid}), who can change it; expected uid ${user} or root`,
    }
  if (mode & 0o020 && uid !== 0) return { refused: false, problem: `its group can change it ${found}` }
  if (mayBeRead) return undefined
  if (mode & others) return { refused: false, problem: `every user of this machine can read it ${found}` }
  // Files of root with a group: secrets of Kubernetes with `fsGroup`, and /etc/ssl/private.
  if (mode & group && uid !== 0 && !groupMayRead)
    return { refused: false, problem: `its group can read it ${found}` }
  return undefined
}
