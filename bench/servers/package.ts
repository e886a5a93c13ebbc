/**
 * The package as users install it: compiled code without the sources, and the dependencies of this checkout.
 */
import { execFile } from 'node:child_process'
import { copyFileSync, cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../harness/paths.ts'

/**
 * Builds the package into an empty folder. `npm pack` is not used, because it compiles into `dist/` of the
 * checkout, and several runs at once would overwrite each other.
 *
 * @returns the launcher
 */
export async function installPackage(folder: string): Promise<string> {
  await promisify(execFile)(process.execPath, [
    join(ROOT, 'scripts', 'build.ts'),
    'sidecar',
    join(folder, 'dist'),
  ])
  const launcher = join(folder, 'portcullis.js')
  for (const name of ['portcullis.js', 'package.json'])
    copyFileSync(join(ROOT, 'sidecar', name), join(folder, name))
  cpSync(join(ROOT, 'proto'), join(folder, 'proto'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return launcher
}
