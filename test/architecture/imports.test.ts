/** Who may import whom (DESIGN §3): the layers of the project as one table of rules. */
import { expect, test } from 'vitest'
import { importsOf, type Source, sourcesIn } from '../support/sources.ts'

interface Rule {
  readonly invariant: string
  /** Files that the rule is about, by the beginning of their paths. */
  readonly files: readonly string[]
  readonly except?: readonly string[]
  /** Beginnings of what they may import; absent: anything that is not forbidden. */
  readonly only?: readonly string[]
  /** Beginnings of what they may not import. */
  readonly never?: readonly string[]
}

const PROTOCOLS = ['sidecar/grpc/', 'sidecar/http/']
const FACES = ['sidecar/cli/', 'sidecar/client/']

const RULES: readonly Rule[] = [
  { invariant: 'the engine imports nothing but itself', files: ['engine/'], only: ['engine/'] },
  {
    invariant: 'the matrix imports the engine by its index, and a JSON reader, and nothing else',
    files: ['matrix/'],
    only: ['engine/index.ts', 'matrix/', 'jsonc-parser'],
  },
  {
    invariant: 'the reader of documents knows no matrix',
    files: ['matrix/document/'],
    only: ['matrix/document/', 'jsonc-parser'],
  },
  { invariant: 'a protocol never calls a store', files: PROTOCOLS, never: ['sidecar/directory/'] },
  {
    invariant: 'a protocol administers through the use cases alone, which decide who may',
    files: PROTOCOLS,
    never: ['sidecar/authority/administration/', 'sidecar/authority/actor.ts'],
  },
  {
    invariant: 'a use case knows no protocol and no store',
    files: ['sidecar/usecases/'],
    never: [...PROTOCOLS, ...FACES, 'sidecar/gen/', 'sidecar/directory/', '@grpc/'],
  },
  {
    invariant: 'the authority and the directory know no protocol and no use case',
    files: ['sidecar/authority/', 'sidecar/directory/'],
    never: [...PROTOCOLS, ...FACES, 'sidecar/usecases/', 'sidecar/gen/', '@grpc/'],
  },
  {
    invariant: 'the client reaches the sidecar over the wire alone',
    files: ['sidecar/client/'],
    never: ['sidecar/authority/', 'sidecar/directory/', 'sidecar/usecases/', 'sidecar/config/', ...PROTOCOLS],
  },
  {
    invariant: 'nothing but the command line imports the command line',
    files: [''],
    except: ['sidecar/cli/', 'sidecar/portcullis.js', 'test/'],
    never: ['sidecar/cli/'],
  },
  {
    invariant: 'nothing but the command line starts workers',
    files: [''],
    except: ['sidecar/cli/', 'sidecar/workers/', 'test/sidecar/workers.test.ts'],
    never: ['sidecar/workers/'],
  },
  {
    invariant: 'the primary answers no call, so it loads no protocol and opens no directory',
    files: ['sidecar/workers/primary.ts', 'sidecar/workers/worker-process.ts'],
    never: [...PROTOCOLS, 'sidecar/directory/', 'sidecar/usecases/', '@grpc/', 'fastify'],
  },
  {
    invariant: 'the product imports neither its tests nor its benchmarks, nor what generates code',
    files: ['engine/', 'matrix/', 'sidecar/'],
    never: ['test/', 'bench/', 'scripts/', 'dist/'],
  },
]

test.each(RULES)('$invariant', ({ files, except = [], only, never = [] }) => {
  const ruled = sourcesIn(...files).filter(({ path }) => !startsWithAny(path, except))
  expect(ruled).not.toHaveLength(0)
  const offences = importsIn(ruled).filter(
    ({ imported }) =>
      startsWithAny(imported, never) || (only !== undefined && !startsWithAny(imported, only)),
  )
  expect(offences).toEqual([])
})

// The rules are no stronger than the reader of imports.
test.each<[code: string, imported: string[]]>([
  ["import { a } from './a.ts'", ['sidecar/grpc/a.ts']],
  ["import type { A } from '../directory/directory.ts'", ['sidecar/directory/directory.ts']],
  ["import {\n  type A,\n  b,\n} from '../../engine/index.ts'", ['engine/index.ts']],
  ["import * as grpc from '@grpc/grpc-js'", ['@grpc/grpc-js']],
  ["import 'node:fs'", ['node:fs']],
  ['import a, { b } from "ajv"', ['ajv']],
  ["import schema from './a.json' with { type: 'json' }", ['sidecar/grpc/a.json']],
  ["export { a, type B } from './a.ts'", ['sidecar/grpc/a.ts']],
  ["export * from './a.ts'", ['sidecar/grpc/a.ts']],
  ["  const { a } = await import('./a.ts')", ['sidecar/grpc/a.ts']],
  ["type A = import('./a.ts').A", ['sidecar/grpc/a.ts']],
  ["const a = require('node:fs')", ['node:fs']],
  ["export const a = 'text from elsewhere'\nexport function b() {}", []],
])('the reader of imports finds those of %j', (text, imported) => {
  expect(importsOf({ path: 'sidecar/grpc/x.ts', text })).toEqual(imported)
})

function importsIn(files: readonly Source[]): { path: string; imported: string }[] {
  return files.flatMap((source) => importsOf(source).map((imported) => ({ path: source.path, imported })))
}

function startsWithAny(text: string, beginnings: readonly string[]): boolean {
  // A package's name must match whole: `ajv` is not `ajv-formats`.
  return beginnings.some((beginning) =>
    beginning === '' || beginning.endsWith('/')
      ? text.startsWith(beginning)
      : text === beginning || text.startsWith(`${beginning}/`),
  )
}
