/** The packages of this checkout, and how each one is built. */
import { join } from 'node:path'

export const ROOT: string = join(import.meta.dirname, '..')

export interface Package {
  /** Path of its folder from the root. The package.json there has its name. */
  readonly folder: string
  /**
   * The modules that package.json, the launcher or Node names. All other modules become part of these or of
   * shared chunks.
   */
  readonly entryPoints: readonly string[]
  /**
   * The stages of a start, one after the other: name → modules that are loaded then. Each becomes two files.
   */
  readonly stages?: Readonly<Record<string, readonly string[]>>
  /** `neutral`: the build fails if the code imports modules of Node. */
  readonly platform: 'neutral' | 'node'
  /** The oldest edition of the language that can run the code. */
  readonly target: string
  /**
   * Whether the code is written without white space, which is a quarter of it and stays in memory. Names stay
   * for stack traces.
   */
  readonly compact: boolean
  /** Whether the package contains the page of `console/`. */
  readonly page?: boolean
  /** Files of the root folder that the package contains, besides the license. */
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
    entryPoints: ['matrix/index.ts', 'matrix/yaml.ts', 'matrix/import/index.ts'],
    platform: 'neutral',
    target: 'es2022',
    compact: true,
    copies: [],
  },
  {
    folder: 'clients/typescript',
    entryPoints: [
      'clients/typescript/index.ts',
      'clients/typescript/node.ts',
      'clients/typescript/fastify.ts',
      'clients/typescript/hono.ts',
      'clients/typescript/fetch.ts',
    ],
    platform: 'node',
    target: 'es2022',
    compact: false,
    copies: [],
  },
  {
    folder: 'sidecar',
    entryPoints: [
      'sidecar/index.ts',
      // The launcher loads these two.
      'sidecar/base/light-start.ts',
      'sidecar/cli/main.ts',
      // The primary starts the worker by the name of the file next to it.
      'sidecar/process/workers/primary.ts',
      'sidecar/process/workers/worker.ts',
      // The worker starts its thread in the same way.
      'sidecar/process/workers/statement-thread.ts',
      // The reader starts its thread by the name of the file next to it.
      'sidecar/rules/matrix-file/read-in-thread.ts',
      'sidecar/rules/matrix-file/thread.ts',
      // A directory file starts its threads in the same way.
      'sidecar/directory/file-work.ts',
      'sidecar/directory/file-thread.ts',
    ],
    stages: {
      launcher: ['sidecar/base/light-start.ts'],
      main: ['sidecar/cli/main.ts'],
      // The commands that ask a sidecar, and the modules that they load to do it.
      ask: [
        'sidecar/cli/commands/check.ts',
        'sidecar/cli/commands/health.ts',
        'sidecar/cli/commands/ask-health.ts',
        'sidecar/cli/commands/issue.ts',
        'sidecar/cli/sidecar-connection.ts',
        'sidecar/cli/unary-calls.ts',
      ],
      serve: ['sidecar/cli/commands/serve.ts'],
      commands: ['sidecar/cli/program.ts'],
      matrix: ['sidecar/cli/read-rules.ts', 'sidecar/contract/responses.ts'],
      config: ['sidecar/config/config.ts'],
      sidecar: [
        'sidecar/base/net/descriptors.ts',
        'sidecar/process/sidecar.ts',
        'sidecar/directory/sqlite.ts',
        'sidecar/transports/sockets/sockets-transport.ts',
      ],
      http: ['sidecar/http/http-server.ts'],
    },
    platform: 'node',
    target: 'es2024',
    compact: true,
    page: true,
    copies: ['CHANGELOG.md', 'proto'],
  },
]

/** @throws Error that lists the packages */
export function packageIn(folder: string): Package {
  const found = PACKAGES.find((each) => each.folder === folder)
  if (found === undefined)
    throw new Error(`no package \`${folder}\`: expected ${PACKAGES.map((each) => each.folder).join(', ')}`)
  return found
}
