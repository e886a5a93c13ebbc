/**
 * Runs `buf`, as `npx buf` would: `node scripts/buf.ts lint`. Its 98 MB have packages of their own in
 * `scripts/buf/`, installed at the first use and again when their lockfile changes.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, 'buf')

/** Runs it, and shows what it prints. @returns its exit code */
function main(args: readonly string[]): number {
  return spawnSync(process.execPath, [installedBuf(), ...args], { stdio: 'inherit' }).status ?? 1
}

/** Path of buf's launcher, a program for Node. Installs it where that has to be done. */
function installedBuf(): string {
  const digest = createHash('sha256')
    .update(readFileSync(join(FOLDER, 'package-lock.json')))
    .digest('hex')
  // Written when npm was done: of a half or another install it is missing or differs.
  const mark = join(FOLDER, 'node_modules', '.installed-from')
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== digest) {
    process.stderr.write('buf: installing it in scripts/buf (npm ci)\n')
    // A shell finds npm on every platform; nothing in the command is anybody's input.
    execFileSync('npm ci --ignore-scripts --no-audit --no-fund', { cwd: FOLDER, shell: true, stdio: 'pipe' })
    writeFileSync(mark, digest)
  }
  return join(FOLDER, 'node_modules', '@bufbuild', 'buf', 'bin', 'buf')
}

process.exitCode = main(process.argv.slice(2))
