/** The package as it is installed: compiled code, no sources beside the launcher, the dependencies of this checkout. */
import { execFile } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '..')

/**
 * Puts it into an empty folder and returns its launcher. Not by `npm pack`, which compiles into the checkout's `dist/`:
 * several runs at once would take it from under each other.
 */
export async function installPackage(folder: string): Promise<string> {
  await promisify(execFile)(process.execPath, [join(ROOT, 'scripts', 'build.ts'), join(folder, 'dist')])
  const launcher = join(folder, 'sidecar', 'portcullis.js')
  mkdirSync(dirname(launcher))
  copyFileSync(join(ROOT, 'sidecar', 'portcullis.js'), launcher)
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  cpSync(join(ROOT, 'proto'), join(folder, 'proto'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return launcher
}
