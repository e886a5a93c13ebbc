/** The folder and the version of this package, in a checkout and when installed. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'

/** The folder with package.json. */
const packageFolder = findPackageFolder(import.meta.dirname)

/** The folder with the protos and their descriptors: at the root of a checkout, or in the installed package. */
export const protoFolder: string = join(
  packageFolder,
  extname(import.meta.filename) === '.ts' ? '../proto' : 'proto',
)

export const packageVersion: string = (
  JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string }
).version

/** Searches upwards: compiled code is one folder deeper than the sources. */
function findPackageFolder(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findPackageFolder(dirname(folder))
}
