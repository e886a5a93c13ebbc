/**
 * Runs `buf`, as `npx buf` would: `node scripts/buf.ts lint`. buf has 98 MB, so it is not one of the checkout's dependencies.
 * It is installed in `scripts/buf/` at the first use, and again when the lockfile there changes.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, 'buf')

/** Runs buf and shows its output. @returns its exit code */
function main(args: readonly string[]): number {
  return spawnSync(process.execPath, [installedBuf(), ...args], { stdio: 'inherit' }).status ?? 1
}

/** Returns the path of buf's launcher, which is a program for Node. Installs buf if necessary. */
function installedBuf(): string {
  const digest = createHash('sha256')
    .update(readFileSync(join(FOLDER, 'package-lock.json')))
    .digest('hex')
  // Written after npm has finished. So after an incomplete or an older installation it is missing or different.
  const mark = join(FOLDER, 'node_modules', '.installed-from')
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== digest) {
    process.stderr.write('buf: installing it in scripts/buf (npm ci)\n')
    // A shell finds npm on every platform. The command contains no input from outside.
    execFileSync('npm ci --ignore-scripts --no-audit --no-fund', { cwd: FOLDER, shell: true, stdio: 'pipe' })
    writeFileSync(mark, digest)
  }
  return join(FOLDER, 'node_modules', '@bufbuild', 'buf', 'bin', 'buf')
}

process.exitCode = main(process.argv.slice(2))
