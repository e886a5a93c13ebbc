/** The files and the version of this package: in a checkout, when installed, and as one executable. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { getRawAsset, isSea } from 'node:sea'

/**
 * Whether Node, all code and the files are one executable (`scripts/executable.ts`). There are no other files
 * then.
 */
export const isExecutable: boolean = isSea()

export const packageVersion: string = (
  JSON.parse(packageFile('package.json').toString()) as { version: string }
).version

/**
 * Reads a file of the package.
 *
 * @param path `package.json`, one of `proto/`, or one of `console/`, which the build makes
 */
export function packageFile(path: string): Buffer {
  if (isExecutable) return Buffer.from(getRawAsset(path))
  const isCheckout = extname(import.meta.filename) === '.ts'
  return readFileSync(join(findPackageFolder(import.meta.dirname), placeOf(path, isCheckout)))
}

/** Where a file of the package is that stands at the same place in a checkout; `undefined`: in no file. */
export function packageFilePath(path: string): string | undefined {
  return isExecutable ? undefined : join(findPackageFolder(import.meta.dirname), path)
}

/**
 * Reads a file of the page of `console/`. @param name from the folder that the build makes: `index.html`
 *
 * @throws Error where there is no such file, or where a checkout has not built the page
 */
export function pageFile(name: string): Buffer {
  try {
    return packageFile(`console/${name}`)
  } catch (cause) {
    throw new Error('the page is not built; `npm run gen` does it', { cause })
  }
}

/** Whether there is a page: a checkout may not have built it. */
export function hasPage(): boolean {
  try {
    return pageFile('index.html').length > 0
  } catch {
    return false
  }
}

/** The protos are at the root of a checkout, and in the installed package; the page is where it was built. */
function placeOf(path: string, isCheckout: boolean): string {
  if (path.startsWith('console/'))
    return isCheckout ? path.replace('console/', '../console/dist/') : `dist/${path}`
  return isCheckout && path.startsWith('proto/') ? `../${path}` : path
}

/** Searches upwards: compiled code is one folder deeper than the sources. */
function findPackageFolder(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findPackageFolder(dirname(folder))
}
