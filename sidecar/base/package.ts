/** Where this package is, in a checkout and when installed, and which version it is. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder that holds package.json and the protos. */
export const packageFolder: string = findPackageFolder(dirname(fileURLToPath(import.meta.url)))

export const packageVersion: string = (
  JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string }
).version

/** Sources are one level below it, compiled code two. */
function findPackageFolder(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findPackageFolder(dirname(folder))
}
