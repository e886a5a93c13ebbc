/** The packages of this checkout, and what becomes of each when it is built. */
import { join } from 'node:path'

export const ROOT: string = join(import.meta.dirname, '..')

export interface Package {
  /** Path from the root; its package.json has the name. */
  readonly folder: string
  /** What package.json, the launcher or Node itself names; everything else becomes part of these, or a shared chunk. */
  readonly entryPoints: readonly string[]
  /** `neutral`: whatever needs Node's own modules does not build. */
  readonly platform: 'neutral' | 'node'
  /** Oldest edition of the language that runs it. */
  readonly target: string
  /** Printed without white space, of which a generated validator has a third; names stay, so that a stack tells where. */
  readonly compact: boolean
  /** What of the root folder is part of it, beside the license. */
  readonly copies: readonly string[]
}

export const PACKAGES: readonly Package[] = [
  {
    folder: 'engine',
    entryPoints: ['engine/index.ts'],
    platform: 'neutral',
    target: 'es2022',
    compact: false,
    copies: [],
  },
  {
    folder: 'matrix',
    entryPoints: ['matrix/index.ts'],
    platform: 'neutral',
    target: 'es2022',
    compact: true,
    copies: [],
  },
  {
    folder: 'sidecar/client',
    entryPoints: ['sidecar/client/index.ts'],
    platform: 'node',
    target: 'es2022',
    compact: false,
    copies: [],
  },
  {
    folder: 'sidecar',
    entryPoints: [
      'sidecar/index.ts',
      'sidecar/cli/main.ts',
      // The primary starts the worker by the name of the file beside it.
      'sidecar/workers/primary.ts',
      'sidecar/workers/worker.ts',
    ],
    platform: 'node',
    target: 'es2024',
    compact: false,
    copies: ['CHANGELOG.md', 'proto'],
  },
]

/** @throws Error that lists the packages there are */
export function packageIn(folder: string): Package {
  const found = PACKAGES.find((each) => each.folder === folder)
  if (found === undefined)
    throw new Error(`no package \`${folder}\`: expected ${PACKAGES.map((each) => each.folder).join(', ')}`)
  return found
}
