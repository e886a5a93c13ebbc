/** Watches the files of a run, until the user ends it. */
import { statSync } from 'node:fs'

/** How often files are looked at, in milliseconds. A look works on every file system. */
const POLL_MS = 250

/**
 * Runs at once and after each change of a file. Resolves on Ctrl-C, and leaves the exit code as it is.
 *
 * @param paths the files, as they are now; a run may make more of them known
 */
export function runOnChanges(paths: () => readonly string[], run: () => void): Promise<void> {
  let seen = new Map<string, string>()
  const runNow = (): void => {
    // Before the run: a file that changes meanwhile is read again.
    seen = versionsOf(paths())
    run()
    for (const [path, version] of versionsOf(paths())) if (!seen.has(path)) seen.set(path, version)
  }
  return new Promise((resolve) => {
    runNow()
    const timer = setInterval(() => {
      const now = versionsOf(paths())
      if (now.size !== seen.size || [...now].some(([path, version]) => seen.get(path) !== version)) runNow()
    }, POLL_MS)
    const end = (): void => {
      clearInterval(timer)
      process.off('SIGINT', end)
      process.off('SIGTERM', end)
      resolve()
    }
    process.once('SIGINT', end)
    process.once('SIGTERM', end)
  })
}

/** Path → a mark of this content. Size and time alone would miss a quick replacement. */
function versionsOf(paths: readonly string[]): Map<string, string> {
  return new Map(
    paths.map((path) => {
      const found = statSync(path, { bigint: true, throwIfNoEntry: false })
      return [path, found ? [found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ') : '']
    }),
  )
}
