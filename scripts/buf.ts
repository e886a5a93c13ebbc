/**
 * Runs `buf`, as `npx buf` would: `node scripts/buf.ts lint`. buf has 98 MB, so it is not one of the
 * checkout's dependencies. It is installed in `scripts/buf/` at the first use, and again when the lockfile
 * there changes.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { installOnDemand } from './on-demand.ts'

/** Runs buf and shows its output. @returns its exit code */
function main(args: readonly string[]): number {
  return spawnSync(process.execPath, [installedBuf(), ...args], { stdio: 'inherit' }).status ?? 1
}

/** Returns the path of buf's launcher, which is a program for Node. Installs buf if necessary. */
function installedBuf(): string {
  return join(installOnDemand('buf'), '@bufbuild', 'buf', 'bin', 'buf')
}

process.exitCode = main(process.argv.slice(2))
