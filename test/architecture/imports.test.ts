/** The imports of each room: as the table of rooms has them, and those that no row of it may allow. */
import { isBuiltin } from 'node:module'
import { expect, test } from 'vitest'
import { importsOf, type Source, sourcesIn } from '../support/checkout/sources.ts'
import { ROOMS } from './rooms.ts'

const PRODUCT = sourcesIn('engine/', 'matrix/', 'proto/', 'clients/', 'sidecar/', 'console/')

test.each(ROOMS)('$room ($purpose) imports what the table says, and all of that', ({ room, imports }) => {
  const files = PRODUCT.filter(({ path }) => roomOf(path) === room)
  expect(files).not.toHaveLength(0)
  const outgoing = importsIn(files)
    .map(({ path, imported }) => ({ path, imported: originOf(imported) }))
    .filter(({ imported }) => imported !== room)
  expect(outgoing.filter(({ imported }) => !imports.includes(imported))).toEqual([])
  expect(imports.filter((each) => !outgoing.some(({ imported }) => imported === each))).toEqual([])
})

test('every file of the product is in a room, and every arrow leads inwards', () => {
  expect(PRODUCT.map(({ path }) => path).filter((path) => roomOf(path) === undefined)).toEqual([])
  const rooms = ROOMS.map(({ room }) => room)
  const outwards = ROOMS.flatMap(({ room, imports }) =>
    imports.filter((each) => rooms.indexOf(each) >= rooms.indexOf(room)).map((each) => `${room} → ${each}`),
  )
  expect(outwards).toEqual([])
})

/** The folders of `sidecar/`, and the files beside them. */
const PLAN = [
  ...['authority/', 'base/', 'cli/', 'config/', 'contract/', 'directory/', 'egress/', 'http/', 'index.ts'],
  ...['portcullis.js', 'process/', 'proxies/', 'rules/', 'signals/', 'transports/', 'usecases/'],
]

/** Most arrows between them. With more, the plan does not fit in a head. */
const ARROWS_MAX = 60

test('sidecar/ has fourteen folders and two loose files, with few arrows between them', () => {
  const outer = (path: string) => /^sidecar\/[^/]+\/?/.exec(path)?.[0] ?? ''
  const files = sourcesIn('sidecar/')
  expect([...new Set(files.map(({ path }) => outer(path)))].toSorted()).toEqual(
    PLAN.map((room) => `sidecar/${room}`),
  )
  const arrows = importsIn(files)
    .map(({ path, imported }) => [outer(path), outer(imported)] as const)
    .filter(([from, to]) => to !== '' && from !== to)
  expect(new Set(arrows.map(String)).size).toBeLessThanOrEqual(ARROWS_MAX)
})

/** The room that a path of the checkout is in. */
function roomOf(path: string): string | undefined {
  const around = ROOMS.filter(({ room }) => (room.endsWith('/') ? path.startsWith(room) : path === room))
  return around.toSorted((one, other) => other.room.length - one.room.length)[0]?.room
}

/** Where something that is imported comes from: its room, its package, or Node. */
function originOf(imported: string): string {
  if (isBuiltin(imported)) return 'node:'
  return roomOf(imported) ?? /^(?:@[^/]+\/)?[^/]+/.exec(imported)?.[0] ?? imported
}

interface Rule {
  readonly invariant: string
  /** Files that the rule is about, by the beginning of their paths. */
  readonly files: readonly string[]
  readonly except?: readonly string[]
  /** Beginnings of what they may not import. */
  readonly never: readonly string[]
}

const PROTOCOLS = [
  ...['sidecar/proxies/', 'sidecar/contract/', 'sidecar/transports/', 'sidecar/http/', 'sidecar/egress/'],
]
const FACES = ['sidecar/cli/', 'clients/']
/** Files of the directory that know what it is stored in. */
const DATABASE = [
  ...['database', 'open-directory', 'postgres', 'rows', 'schema', 'sqlite', 'store', 'verification'],
]

const RULES: readonly Rule[] = [
  { invariant: 'a protocol never calls a store', files: PROTOCOLS, never: ['sidecar/directory/'] },
  {
    invariant: 'a protocol administers through the use cases alone, which decide who may',
    files: PROTOCOLS,
    never: [
      ...['sidecar/authority/administration/', 'sidecar/authority/actor.ts'],
      'sidecar/usecases/administration/run.ts',
    ],
  },
  {
    invariant: 'a use case knows records and changes, and no protocol and no database',
    files: ['sidecar/usecases/'],
    never: [
      ...[...PROTOCOLS, ...FACES, 'proto/gen/', '@grpc/', 'sidecar/directory/backup/'],
      ...['sidecar/directory/feed/', ...DATABASE.map((file) => `sidecar/directory/${file}.ts`)],
    ],
  },
  {
    invariant: 'the authority and the directory do not know protocols and use cases, but for that of a hub',
    files: ['sidecar/authority/', 'sidecar/directory/'],
    except: ['hub-issue.ts', 'hub-line.ts', 'hub-messages.ts'].map((file) => `sidecar/authority/hub/${file}`),
    never: [...PROTOCOLS, ...FACES, 'sidecar/usecases/', 'proto/gen/', '@grpc/'],
  },
  {
    invariant: 'an upstream is asked by use cases through values alone',
    files: ['sidecar/authority/upstream/'],
    never: [...PROTOCOLS, ...FACES, 'sidecar/usecases/', 'sidecar/directory/', 'proto/gen/', '@grpc/'],
  },
  {
    invariant: 'a handler does not know a transport',
    files: ['sidecar/contract/'],
    // Its handlers are those of a library for grpc-js.
    except: ['sidecar/contract/reflection-methods.ts'],
    never: ['sidecar/transports/', '@grpc/'],
  },
  {
    invariant: 'a transport does not know a service',
    files: ['sidecar/transports/'],
    never: [
      ...['engine/', 'matrix/', 'proto/gen/', 'sidecar/authority/', 'sidecar/usecases/', 'sidecar/proxies/'],
    ],
  },
  {
    invariant: 'Connect imports no other transport: what two have stands above them',
    files: ['sidecar/transports/connect/'],
    never: ['sockets/', 'http2/', 'grpc-js/'].map((folder) => `sidecar/transports/${folder}`),
  },
  {
    invariant: 'gRPC on sockets needs no library of gRPC',
    files: ['sidecar/transports/sockets/', 'sidecar/transports/connect/'],
    never: ['@grpc/', 'node:http2', 'fastify'],
  },
  {
    invariant: 'a client reaches the sidecar over the wire alone',
    files: ['clients/'],
    never: ['sidecar/'],
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
    except: ['sidecar/cli/', 'sidecar/process/workers/', 'test/process/workers.test.ts', 'test/simulation/'],
    never: ['sidecar/process/workers/'],
  },
  {
    invariant: 'the primary answers no call, so it loads no protocol and opens no directory',
    files: ['sidecar/process/workers/primary.ts', 'sidecar/process/workers/worker-process.ts'],
    never: [...PROTOCOLS, 'sidecar/directory/', 'sidecar/usecases/', '@grpc/', 'fastify'],
  },
  {
    invariant: 'the product imports neither its tests nor its benchmarks, nor what generates code',
    files: ['engine/', 'matrix/', 'proto/', 'clients/', 'sidecar/', 'console/'],
    never: ['test/', 'bench/', 'scripts/', 'dist/'],
  },
  {
    invariant: 'the product serves the page as bytes, and imports none of it',
    files: ['engine/', 'matrix/', 'clients/', 'sidecar/'],
    never: ['console/', 'preact'],
  },
  {
    invariant: 'the page has no Node and no sidecar: it asks over the wire alone',
    files: ['console/'],
    never: ['sidecar/', 'clients/', 'proto/', 'node:'],
  },
]

test.each(RULES)('$invariant', ({ files, except = [], never }) => {
  const ruled = sourcesIn(...files).filter(({ path }) => !startsWithAny(path, except))
  expect(ruled).not.toHaveLength(0)
  expect(importsIn(ruled).filter(({ imported }) => startsWithAny(imported, never))).toEqual([])
})

// The rules are no stronger than the reader of imports.
test.each<[code: string, imported: string[]]>([
  ["import { a } from './a.ts'", ['sidecar/contract/a.ts']],
  ["import type { A } from '../directory/directory.ts'", ['sidecar/directory/directory.ts']],
  ["import {\n  type A,\n  b,\n} from '../../engine/index.ts'", ['engine/index.ts']],
  ["import * as grpc from '@grpc/grpc-js'", ['@grpc/grpc-js']],
  ["import 'node:fs'", ['node:fs']],
  ['import a, { b } from "ajv"', ['ajv']],
  ["import schema from './a.json' with { type: 'json' }", ['sidecar/contract/a.json']],
  ["export { a, type B } from './a.ts'", ['sidecar/contract/a.ts']],
  ["export * from './a.ts'", ['sidecar/contract/a.ts']],
  ["  const { a } = await import('./a.ts')", ['sidecar/contract/a.ts']],
  ["type A = import('./a.ts').A", ['sidecar/contract/a.ts']],
  ["const a = require('node:fs')", ['node:fs']],
  ["export const a = 'text from elsewhere'\nexport function b() {}", []],
])('the reader of imports finds those of %j', (text, imported) => {
  expect(importsOf({ path: 'sidecar/contract/x.ts', text })).toEqual(imported)
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
