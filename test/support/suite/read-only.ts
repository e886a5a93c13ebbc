/** A folder on a read-only file system, for one process: a mount in a separate namespace (Linux). */
import { spawnSync } from 'node:child_process'

/** Whether this machine lets the user of this process make such a mount. */
export const CAN_MOUNT =
  process.platform === 'linux' && spawnSync('unshare', mounting('/tmp', ['true'])).status === 0

/** The command in a place where the folder cannot be written. */
export function withReadOnly(folder: string, command: readonly string[]): string[] {
  return ['unshare', ...mounting(folder, command)]
}

function mounting(folder: string, command: readonly string[]): string[] {
  const namespace = process.geteuid?.() === 0 ? ['-m'] : ['-r', '-m']
  const script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
  return [...namespace, 'sh', '-c', script, folder, ...command]
}
