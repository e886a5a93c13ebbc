/**
 * `npm pack` and `npm publish` run this in the folder of a package. Before packing it builds the package, and
 * copies files from elsewhere in the checkout into the folder, because npm packs only files of the folder.
 * After packing, with `--clean`, it removes the copies.
 */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildPackage } from './build.ts'
import { packageIn, ROOT } from './packages.ts'

/**
 * The contract of the last release is only needed to find breaking changes, and the generated messages are
 * built into the code. So neither is published.
 */
const published = (path: string) => !path.endsWith('released.binpb') && !path.endsWith(join('proto', 'gen'))

const args = process.argv.slice(2)
const clean = args[0] === '--clean'
const packed = packageIn(args.at(-1) ?? '')
const folder = join(ROOT, packed.folder)

const copies = ['LICENSE', ...packed.copies]

if (!clean) await buildPackage(packed, join(folder, 'dist'))
for (const copy of copies)
  if (clean) rmSync(join(folder, copy), { recursive: true, force: true })
  else cpSync(join(ROOT, copy), join(folder, copy), { recursive: true, filter: published })
