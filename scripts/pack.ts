/**
 * What `npm pack` and `npm publish` run in the folder of a package: before, the package is built, and gets what lies elsewhere in
 * the checkout (npm takes nothing from outside of the folder); after, with `--clean`, the copies are removed again.
 */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildPackage } from './build.ts'
import { packageIn, ROOT } from './packages.ts'

/** The contract of the last release is what changes are compared with, and nothing that a user needs. */
const published = (path: string) => !path.endsWith('released.binpb')

const args = process.argv.slice(2)
const clean = args[0] === '--clean'
const packed = packageIn(args.at(-1) ?? '')
const folder = join(ROOT, packed.folder)

const copies = ['LICENSE', ...packed.copies]

if (!clean) await buildPackage(packed, join(folder, 'dist'))
for (const copy of copies)
  if (clean) rmSync(join(folder, copy), { recursive: true, force: true })
  else cpSync(join(ROOT, copy), join(folder, copy), { recursive: true, filter: published })
