/**
 * A new protocol that decides must be added to the table of `protocols.ts`, where it gets the questions of
 * all others. These tests find one that is not there: by the imports of the sources, and by what the servers
 * announce.
 */
import { globSync, readFileSync } from 'node:fs'
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { expect, test, vi } from 'vitest'
import { HttpRoutes } from '../../sidecar/base/http/http-routes.ts'
import configSchema from '../../sidecar/config/config.schema.json' with { type: 'json' }
import { ROOT, type Source, sourcesIn, valueImportsOf } from '../support/checkout/sources.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { everyProtocol } from './people.ts'
import { CHECK_STREAM } from './protocols/connect.ts'
import { PROTOCOLS } from './protocols.ts'

/** Where decisions are made: about a credential, and in the client package about a request. */
const DECIDING = ['sidecar/usecases/check.ts', 'clients/typescript/gate.ts']

/** The code that several protocols share, so that it does not count as a protocol. */
const SHARED = ['sidecar/usecases/', 'sidecar/proxies/decide.ts']

/** Decisions of the engine itself, or of a sidecar that is asked over gRPC. */
const ASKS =
  /\bengine\.(?:decide|decideAt|deny)\(|\b(?:decideCell|explainCell)\(|\bclient\.check(?:Batch|Stream)?\(/

/** Files that ask, and decide about no request of a client. */
const NO_PROTOCOL = [
  // It measures the client.
  'clients/typescript/bench/figures.ts',
  // Whether a token of the agent is still active.
  'sidecar/cli/agent/token-source.ts',
  // The decisions of another matrix about the lines of a log.
  'sidecar/signals/decision-log/replay.ts',
  // The decisions of a shadow beside each protocol, which no caller gets.
  'sidecar/process/open/open-shadow.ts',
]

const PRODUCT = sourcesIn('sidecar/', 'clients/').filter(({ generated }) => !generated)
const isShared = ({ path }: Pick<Source, 'path'>) => SHARED.some((room) => path.startsWith(room))

/** Files that decide: they import, perhaps over what is shared, what decides, or ask an engine. */
function filesThatDecide(sources: readonly Source[]): string[] {
  const deciding = new Set(DECIDING)
  const importsDeciding = (source: Source) => valueImportsOf(source).some((path) => deciding.has(path))
  for (let before = 0; before < deciding.size; ) {
    before = deciding.size
    for (const source of sources) if (isShared(source) && importsDeciding(source)) deciding.add(source.path)
  }
  return sources
    .filter((source) => !isShared(source) && !DECIDING.includes(source.path))
    .filter((source) => importsDeciding(source) || ASKS.test(source.text))
    .map(({ path }) => path)
    .filter((path) => !NO_PROTOCOL.includes(path))
}

test('every file that decides belongs to a protocol of the table, and no other file is named', () => {
  const named = new Set(PROTOCOLS.flatMap(({ files }) => files))
  expect(filesThatDecide(PRODUCT).toSorted()).toEqual([...named].toSorted())
})

// The rule is no stronger than the reader of sources.
test.each<[code: string, decides: boolean]>([
  ["import { checkCredentials } from '../usecases/check.ts'", true],
  ["import { type CheckOutcome, checkClaims } from '../usecases/check.ts'", true],
  ["import type { CheckOutcome } from '../usecases/check.ts'", false],
  [
    "import {\n  type CheckOutcome,\n  type ClaimsQuestion as Question,\n} from '../usecases/check.ts'",
    false,
  ],
  ["const { checkClaims } = await import('../usecases/check.ts')", true],
  ["export { checkClaims } from '../usecases/check.ts'", true],
  ["import { authorizeRequest } from '../usecases/decide-proxied.ts'", true],
  ["import { decide } from '../proxies/decide.ts'", true],
  ["import { Gate } from '../../clients/typescript/gate.ts'", true],
  ['const decision = engine.decide({ api, kind, scope })', true],
  ['const { decision } = explainCell(matrix, engine, api, kind)', true],
  ['const answer = await client.check(question)', true],
  ["import { plan } from '../usecases/plan.ts'", false],
])('it sees whether a new protocol with %j decides: %s', (text, decides) => {
  const added = { path: 'sidecar/added/protocol.ts', text, generated: false }
  expect(filesThatDecide([...PRODUCT, added]).includes(added.path)).toBe(decides)
})

/** Announced methods and routes that answer no question of the table. */
const NO_QUESTION = [
  /^(?:gRPC|HTTP) \/portcullis\.v1\.DirectoryService\//,
  /^(?:gRPC|HTTP) \/portcullis\.v1\.AuthorizationService\/(?:Issue|Revoke|Plan|GetMatrix|WatchMatrix|WatchChanges|DescribeTokens|GetPromotedMatrix)$/,
  /^(?:gRPC|HTTP) \/grpc\.health\.v1\.Health\//,
  /^HTTP \/grpc\.reflection\./,
  // Unknown methods.
  /^HTTP \/portcullis\.v1\.AuthorizationService\/\*$/,
  /^HTTP \/openapi\.json$/,
  /^HTTP \/(?:healthz|readyz)$/,
  /^HTTP \/(?:$|identity$|identity\/)/,
  /^HTTP \/\.well-known\//,
  // The page decides in the browser, by the engine; people log in to it.
  /^HTTP \/console\//,
  // A list of what evaluations would permit, without reasons: `test/authzen/search.test.ts` holds it to them.
  /^HTTP \/access\/v1\/search\/(?:subject|resource)$/,
]

test('every method and route that is announced is asked, or answers no question of the table', async () => {
  const announced = [...announcedMethods(), ...(await announcedRoutes())]
  const asked = [...PROTOCOLS.flatMap((protocol) => protocol.announced), CHECK_STREAM]
  expect(asked.filter((name) => !announced.includes(name))).toEqual([])
  const others = announced.filter((name) => !asked.includes(name))
  expect(others.filter((name) => !NO_QUESTION.some((pattern) => pattern.test(name)))).toEqual([])
  const idle = NO_QUESTION.filter((pattern) => !others.some((name) => pattern.test(name)))
  expect(idle).toEqual([])
})

test('every switch of HTTP that is off by default is on where routes are announced', () => {
  const { http } = configSchema.properties
  const off = Object.entries(http.properties).filter(([, key]) => 'default' in key && key.default === false)
  const { http: on } = JSON.parse(readFileSync(everyProtocol().config, 'utf8'))
  expect(off.length).toBeGreaterThan(0)
  expect(off.map(([name]) => name).filter((name) => on[name] !== true)).toEqual([])
})

/** Of every service whose descriptors gRPC's reflection gives out. */
function announcedMethods(): string[] {
  const sets = globSync('*.binpb', { cwd: `${ROOT}proto` }).filter((name) => name !== 'released.binpb')
  return sets.flatMap((name) => {
    const bytes = readFileSync(`${ROOT}proto/${name}`)
    return Array.from(createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes)))
      .filter((type) => type.kind === 'service')
      .flatMap((service) => service.methods.map((method) => `gRPC /${service.typeName}/${method.name}`))
  })
}

/** Of a sidecar with every protocol. */
async function announcedRoutes(): Promise<string[]> {
  const urls = new Set<string>()
  const { add } = HttpRoutes.prototype
  const spy = vi.spyOn(HttpRoutes.prototype, 'add').mockImplementation(function (this: HttpRoutes, ...route) {
    urls.add(`HTTP ${route[1]}`)
    add.apply(this, route)
  })
  try {
    await runSidecar(everyProtocol())
  } finally {
    spy.mockRestore()
  }
  return [...urls]
}
