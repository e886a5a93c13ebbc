/** Who may import whom (DESIGN §3): the rooms of the product as one table, and what no row of it may ever allow. */
import { isBuiltin } from 'node:module'
import { expect, test } from 'vitest'
import { importsOf, type Source, sourcesIn } from '../support/sources.ts'

interface Room {
  /** Its folder, or its one file. A file is in the innermost folder that is a room. */
  readonly room: string
  readonly purpose: string
  /** Rooms that it imports, and packages; `node:` stands for all that Node brings. Nothing else may be imported. */
  readonly imports: readonly string[]
}

/** From the inside out: a room imports only rooms above it. */
const ROOMS: readonly Room[] = [
  { room: 'engine/', purpose: 'the rule, pure', imports: [] },
  { room: 'matrix/document/', purpose: 'reads JSON documents strictly', imports: ['jsonc-parser'] },
  { room: 'matrix/', purpose: 'the facts', imports: ['engine/', 'matrix/document/'] },
  {
    room: 'sidecar/gen/',
    purpose: 'the messages of the contract, generated',
    imports: ['@bufbuild/protobuf', '@grpc/grpc-js'],
  },
  { room: 'sidecar/base/', purpose: 'what every room of the sidecar may use', imports: ['node:'] },
  {
    room: 'sidecar/http2/',
    purpose: 'HTTP/2 on sockets, whatever it carries',
    imports: ['sidecar/base/', 'node:'],
  },
  {
    room: 'sidecar/denial.ts',
    purpose: 'what the sender of a denied request is told',
    imports: ['engine/'],
  },
  { room: 'sidecar/routes/', purpose: 'which API a request is for', imports: ['sidecar/base/'] },
  {
    room: 'sidecar/config/',
    purpose: 'the configuration, checked',
    imports: ['matrix/document/', 'sidecar/base/', 'sidecar/routes/', 'node:', 'yaml'],
  },
  {
    room: 'sidecar/directory/',
    purpose: 'the records of accounts and people; the only room that knows a database',
    imports: ['sidecar/base/', 'node:', 'lru-cache', 'p-limit', 'pg'],
  },
  {
    room: 'sidecar/authority/',
    purpose: 'passwords, tokens and keys: issues, verifies, revokes',
    imports: ['engine/', 'sidecar/base/', 'sidecar/directory/', 'node:', 'ipaddr.js', 'lru-cache'],
  },
  {
    room: 'sidecar/rules.ts',
    purpose: 'the matrix in force',
    imports: ['engine/', 'matrix/', 'sidecar/base/', 'node:'],
  },
  {
    room: 'sidecar/upstream/',
    purpose: 'identity endpoints of others, and the tokens that profiles obtain',
    imports: [
      ...['engine/', 'matrix/document/', 'sidecar/base/', 'sidecar/config/', 'sidecar/authority/'],
      ...['node:', 'cockatiel', 'node-cache', 'p-limit', 'undici'],
    ],
  },
  {
    room: 'sidecar/usecases/',
    purpose: 'who may do what, once for every protocol',
    imports: [
      ...['engine/', 'matrix/', 'sidecar/base/', 'sidecar/routes/', 'sidecar/authority/', 'sidecar/rules.ts'],
      ...['node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/http-authorization/',
    purpose: 'what proxies are told about the requests that they ask about',
    imports: [
      ...['engine/', 'sidecar/base/', 'sidecar/denial.ts', 'sidecar/routes/', 'sidecar/authority/'],
      ...['sidecar/usecases/', 'node:'],
    ],
  },
  {
    room: 'sidecar/grpc/',
    purpose: 'the contract over gRPC',
    imports: [
      ...['engine/', 'matrix/', 'sidecar/gen/', 'sidecar/base/', 'sidecar/http2/', 'sidecar/authority/'],
      ...[
        'sidecar/usecases/',
        'sidecar/http-authorization/',
        'node:',
        '@bufbuild/protobuf',
        '@grpc/grpc-js',
        '@grpc/reflection',
      ],
    ],
  },
  {
    room: 'sidecar/http/',
    purpose: 'the identity endpoint over HTTP',
    imports: [
      ...['engine/', 'matrix/document/', 'sidecar/base/', 'sidecar/routes/', 'sidecar/authority/'],
      ...['sidecar/usecases/', 'sidecar/http-authorization/', 'node:', 'fastify', '@fastify/cors', 'pino'],
    ],
  },
  {
    room: 'sidecar/credentials.ts',
    purpose: 'the profiles and upstreams in force',
    imports: [
      ...['engine/', 'sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'sidecar/upstream/'],
      ...['sidecar/usecases/', 'pino'],
    ],
  },
  {
    room: 'sidecar/egress/',
    purpose: 'forwards the requests of applications, with the credential of their route',
    imports: ['engine/', 'sidecar/base/', 'sidecar/usecases/', 'node:', 'pino', 'undici'],
  },
  {
    room: 'sidecar/health/',
    purpose: 'the listener for probes',
    imports: ['sidecar/base/', 'node:'],
  },
  {
    room: 'sidecar/open-health.ts',
    purpose: 'opens the listener for probes, where it is configured',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/health/'],
  },
  {
    room: 'sidecar/log.ts',
    purpose: 'the log',
    imports: ['sidecar/base/', 'sidecar/config/', 'node:', 'pino'],
  },
  {
    room: 'sidecar/open-egress.ts',
    purpose: 'opens egress, where it is configured',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/usecases/', 'sidecar/egress/'],
  },
  {
    room: 'sidecar/open-routes.ts',
    purpose: 'opens the routes, where there are any',
    imports: ['engine/', 'sidecar/routes/', 'sidecar/config/', 'sidecar/rules.ts', 'pino'],
  },
  {
    room: 'sidecar/http-options.ts',
    purpose: 'what the configuration says about HTTP',
    imports: ['sidecar/config/', 'sidecar/http/'],
  },
  {
    room: 'sidecar/open-contract.ts',
    purpose: 'opens the contract over HTTP, where it is configured',
    imports: [
      ...['sidecar/base/', 'sidecar/config/', 'sidecar/usecases/', 'sidecar/grpc/', 'sidecar/http/', 'node:'],
    ],
  },
  {
    room: 'sidecar/open-certificates.ts',
    purpose: 'opens the certificates of the listeners',
    imports: ['sidecar/base/', 'sidecar/config/', 'pino'],
  },
  {
    room: 'sidecar/authority-events.ts',
    purpose: 'what the embedded authority and its directory tell the log and health checks',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'pino'],
  },
  {
    room: 'sidecar/sidecar.ts',
    purpose: 'opens everything that a sidecar is made of',
    imports: [
      ...['sidecar/base/', 'sidecar/config/', 'sidecar/directory/', 'sidecar/authority/', 'sidecar/rules.ts'],
      ...['sidecar/usecases/', 'sidecar/credentials.ts', 'sidecar/grpc/', 'sidecar/http/', 'sidecar/log.ts'],
      ...['sidecar/open-egress.ts', 'sidecar/open-routes.ts', 'sidecar/open-health.ts'],
      ...['sidecar/http-options.ts'],
      ...['sidecar/open-contract.ts', 'sidecar/open-certificates.ts'],
      ...['sidecar/authority-events.ts', 'pino'],
    ],
  },
  {
    room: 'sidecar/index.ts',
    purpose: 'the sidecar for programs that run it themselves',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'sidecar/sidecar.ts'],
  },
  {
    room: 'sidecar/workers/',
    purpose: 'several processes that serve as one',
    imports: [
      ...['sidecar/base/', 'sidecar/config/', 'sidecar/directory/', 'sidecar/authority/', 'sidecar/log.ts'],
      ...['sidecar/credentials.ts', 'sidecar/health/', 'sidecar/open-health.ts', 'sidecar/sidecar.ts'],
      ...['node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/client/',
    purpose: 'the client of the contract',
    imports: ['engine/', 'sidecar/gen/', 'sidecar/denial.ts', 'node:', '@grpc/grpc-js'],
  },
  {
    room: 'sidecar/agent/',
    purpose: 'keeps tokens fresh in files',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/client/', 'node:', 'pino'],
  },
  {
    room: 'sidecar/cli/',
    purpose: 'the command line',
    imports: [
      ...['engine/', 'matrix/document/', 'matrix/', 'sidecar/gen/', 'sidecar/base/', 'sidecar/config/'],
      ...[
        'sidecar/routes/',
        'sidecar/directory/',
        'sidecar/authority/',
        'sidecar/upstream/',
        'sidecar/rules.ts',
        'sidecar/usecases/',
        'sidecar/open-certificates.ts',
      ],
      ...['sidecar/grpc/', 'sidecar/log.ts', 'sidecar/sidecar.ts', 'sidecar/workers/', 'sidecar/client/'],
      ...['sidecar/agent/', 'node:', 'commander'],
    ],
  },
  { room: 'sidecar/portcullis.js', purpose: 'starts the command line', imports: ['node:'] },
]

const PRODUCT = sourcesIn('engine/', 'matrix/', 'sidecar/')

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

const PROTOCOLS = ['sidecar/http-authorization/', 'sidecar/grpc/', 'sidecar/http/', 'sidecar/egress/']
const FACES = ['sidecar/cli/', 'sidecar/client/']

const RULES: readonly Rule[] = [
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
    invariant: 'an upstream is asked by use cases through values alone',
    files: ['sidecar/upstream/'],
    never: [...PROTOCOLS, ...FACES, 'sidecar/usecases/', 'sidecar/directory/', 'sidecar/gen/', '@grpc/'],
  },
  {
    invariant: 'the handlers of gRPC know no transport',
    files: ['sidecar/grpc/'],
    except: [
      ...[
        'sidecar/grpc/grpc-js/',
        'sidecar/grpc/sockets/',
        'sidecar/grpc/connect/',
        'sidecar/grpc/server.ts',
      ],
      'sidecar/grpc/reflection.ts',
    ],
    never: [
      ...['sidecar/grpc/grpc-js/', 'sidecar/grpc/sockets/', 'sidecar/grpc/connect/', 'sidecar/http2/'],
      '@grpc/',
    ],
  },
  {
    invariant: 'a transport knows no service',
    files: ['sidecar/grpc/grpc-js/', 'sidecar/grpc/sockets/', 'sidecar/grpc/connect/'],
    never: ['engine/', 'matrix/', 'sidecar/gen/', 'sidecar/authority/', 'sidecar/usecases/'],
  },
  {
    invariant: 'gRPC on sockets needs no library of gRPC',
    files: ['sidecar/grpc/sockets/', 'sidecar/grpc/connect/'],
    never: ['@grpc/', 'node:http2', 'fastify'],
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

test.each(RULES)('$invariant', ({ files, except = [], never }) => {
  const ruled = sourcesIn(...files).filter(({ path }) => !startsWithAny(path, except))
  expect(ruled).not.toHaveLength(0)
  expect(importsIn(ruled).filter(({ imported }) => startsWithAny(imported, never))).toEqual([])
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
