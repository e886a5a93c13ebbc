/** The package as it is installed: compiled code, no sources beside the launcher, the dependencies of this checkout. */
import { execFile } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '..')

/**
 * Puts it into an empty folder and returns its launcher. Not by `npm pack`, which compiles into the checkout's `dist/`:
 * several runs at once would take it from under each other.
 */
export async function installPackage(folder: string): Promise<string> {
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  const project = join(ROOT, 'tsconfig.build.json')
  await promisify(execFile)(process.execPath, [compiler, '-p', project, '--outDir', join(folder, 'dist')])
  const launcher = join(folder, 'sidecar', 'portcullis.js')
  mkdirSync(dirname(launcher))
  copyFileSync(join(ROOT, 'sidecar', 'portcullis.js'), launcher)
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  cpSync(join(ROOT, 'proto'), join(folder, 'proto'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return launcher
}
