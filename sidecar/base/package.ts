/** Where this package is, in a checkout and when installed, and which version it is. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'

/** The folder that holds package.json. */
const packageFolder = findPackageFolder(import.meta.dirname)

/** The protos and their descriptors: in a checkout beside the packages, when installed a part of this one. */
export const protoFolder: string = join(
  packageFolder,
  extname(import.meta.filename) === '.ts' ? '../proto' : 'proto',
)

export const packageVersion: string = (
  JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string }
).version

/** Sources are one level below it, compiled code two. */
function findPackageFolder(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findPackageFolder(dirname(folder))
}
