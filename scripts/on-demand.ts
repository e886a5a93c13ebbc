/** Installs tools that few need at their first use, each from a folder here with its own lockfile. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Installs the packages of `scripts/NAME/` if necessary. @returns its `node_modules` */
export function installOnDemand(name: string): string {
  const folder = join(import.meta.dirname, name)
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex')
  // Written after npm has finished. So after an incomplete or an older installation it is missing or
  // different.
  const mark = join(folder, 'node_modules', '.installed-from')
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== digest) {
    process.stderr.write(`${name}: installing it in scripts/${name} (npm ci)\n`)
    // A shell finds npm on every platform. The command contains no input from outside.
    execFileSync('npm ci --ignore-scripts --no-audit --no-fund', { cwd: folder, shell: true, stdio: 'pipe' })
    writeFileSync(mark, digest)
  }
  return join(folder, 'node_modules')
}
