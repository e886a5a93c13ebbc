/**
 * What `npm pack` and `npm publish` run in the folder of a package: before, the package is built, and gets what lies elsewhere in
 * the checkout (npm takes nothing from outside of the folder); after, with `--clean`, the copies are removed again.
 */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildPackage } from './build.ts'
import { packageIn, ROOT } from './packages.ts'

const COPIES = ['LICENSE', 'proto']

/** The contract of the last release is what changes are compared with, and nothing that a user needs. */
const published = (path: string) => !path.endsWith('released.binpb')

const args = process.argv.slice(2)
const clean = args[0] === '--clean'
const packed = packageIn(args.at(-1) ?? '')
const folder = join(ROOT, packed.folder)

if (clean) {
  for (const copy of COPIES) rmSync(join(folder, copy), { recursive: true, force: true })
} else {
  await buildPackage(packed, join(folder, 'dist'))
  for (const copy of COPIES)
    if (copy !== 'proto' || packed.protos)
      cpSync(join(ROOT, copy), join(folder, copy), { recursive: true, filter: published })
}
