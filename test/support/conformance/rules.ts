/** The rules that the suite decides by: of the shipped matrix in both modes, and of others. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type CompileOptions,
  compile,
  type Engine,
  finish,
  type Matrix,
  type TokenKind,
} from '../../../engine/index.ts'
import { loadMatrix, supportMatrix } from '../../../matrix/index.ts'
import * as wire from '../../../proto/gen/portcullis/v1/authorization.ts'
import { Reason } from '../../../proto/gen/portcullis/v1/decision.ts'
import { rulesInSteps } from '../../../sidecar/contract/change-messages.ts'
import { encode } from '../../../sidecar/contract/responses.ts'
import { encodedRoutes } from '../../../sidecar/contract/route-messages.ts'
import { readMatrix } from '../../../sidecar/rules/matrix-file/read.ts'
import { compileRoutes } from '../../../sidecar/rules/routes/compile-routes.ts'
import type { Routes } from '../../../sidecar/rules/routes/routes.ts'
import { ROUTES } from '../inputs/paths.ts'
import { withHostileIds } from '../matrices/hostile-ids.ts'

const proseRules: Matrix = {
  ...supportMatrix,
  conflicts: supportMatrix.conflicts.map((conflict) => ({ ...conflict, resolution: 'prose' })),
}

/** One kind, one API, and unlikely names. */
const smallest: Matrix = {
  title: 'One door',
  tokenKinds: [
    {
      ...{ id: 'room key', title: 'Öffner', family: 'metal', scopeLevel: 'project', header: 'X-Room-Key' },
      ...{ issuedTo: 'guest', obtained: { by: 'control_panel', steps: ['Ask the porter.'] } },
      ...{ permissionScopes: [], lifetimeSeconds: null, section: '§1' },
    },
  ],
  apis: [{ id: '__proto__', title: 'Door', accepts: ['room key'], section: '§2' }],
  statements: [],
  conflicts: [],
}

/** Kinds that share a header and differ in scheme and prefix. */
const library = loadMatrix(
  readFileSync(join(import.meta.dirname, '../../../examples/matrices/city-library.json')),
)

const ELSEWHERE: Omit<TokenKind, 'id' | 'title' | 'family'> = {
  ...{ scopeLevel: 'account', issuedTo: 'user', permissionScopes: [], lifetimeSeconds: null, section: '§1' },
  obtained: { by: 'elsewhere', link: 'https://example.com/tokens' },
}

/** Kinds with several places, and APIs with notes and without a token. */
const placed: Matrix = {
  ...{ title: 'Places', statements: [], conflicts: [] },
  tokenKinds: [
    {
      ...{ ...ELSEWHERE, id: 'git_token', title: 'Git token', family: 'git' },
      places: [
        { header: 'PRIVATE-TOKEN' },
        { header: 'Authorization', scheme: 'Bearer' },
        { header: 'Authorization', basic: 'password' },
      ],
    },
    {
      ...{ ...ELSEWHERE, id: 'account_key', title: 'account key', family: 'key' },
      places: [{ header: 'X-Auth-Key', with: 'X-Auth-Email' }],
    },
    {
      ...{ ...ELSEWHERE, id: 'secret_key', title: 'secret key', family: 'key' },
      places: [
        { header: 'Authorization', basic: 'user', prefix: 'sk_' },
        { header: 'Authorization', scheme: 'Bearer', prefix: 'sk_' },
      ],
    },
  ],
  apis: [
    {
      ...{ id: 'projects', title: 'Projects', accepts: ['git_token', 'secret_key'], section: '§2' },
      notes: { git_token: 'read only', account_key: 'on request' },
    },
    { id: 'status', title: 'Status', accepts: [], public: true, section: '§2' },
    { id: 'search', title: 'Search', accepts: ['account_key'], public: true, section: '§2' },
  ],
}

/** The kinds of the source, and APIs of which a third accepts one, a third two, and a third all. */
const manyApis = (count: number): Matrix => ({
  ...{ title: 'Many APIs', tokenKinds: supportMatrix.tokenKinds, statements: [], conflicts: [] },
  apis: Array.from({ length: count }, (_, index) => ({
    ...{ id: `api-${index}`, title: `the API number ${index}`, section: '§5.4' },
    accepts: supportMatrix.tokenKinds.slice(0, 1 + (index % 3)).map(({ id }) => id),
  })),
})

const made = (matrix: Matrix, options?: CompileOptions) => compile(matrix, options)

/** The matrices made from tables of providers, which clients decide by in their own memory. */
const PROVIDERS = ['cloudflare', 'github', 'gitlab', 'slack', 'stripe', 'twilio']
const exampleOf = (name: string): Matrix =>
  readMatrix(join(import.meta.dirname, `../../../examples/matrices/${name}.yaml`))

/** By the names of their files. */
export const ENGINES: Readonly<Record<string, Engine>> = {
  shipped: made(supportMatrix),
  'shipped-strict': made(supportMatrix, { strict: true }),
  prose: made(proseRules),
  'prose-strict': made(proseRules, { strict: true }),
  smallest: made(smallest),
  many: made(manyApis(300)),
  library: made(library),
  'library-strict': made(library, { strict: true }),
  placed: made(placed),
  'hostile-ids': made(withHostileIds(library)),
  ...Object.fromEntries(PROVIDERS.map((name) => [name, made(exampleOf(name))])),
}

/** The kinds of the source in other places: two have changed their headers, and one has got a prefix. */
export const MOVED: Engine = made({
  ...supportMatrix,
  tokenKinds: supportMatrix.tokenKinds.map((kind) =>
    kind.id === 'iam_token_project_scoped'
      ? { ...kind, prefix: 'prj_' }
      : { ...kind, header: kind.header === 'X-Token' ? 'X-Auth-Token' : 'X-Token' },
  ),
})

/** The encoded message `Rules` of an engine that needs no parts. */
export function rulesOf(engine: Engine, routes?: Routes): Buffer {
  const { parts, last } = finish(rulesInSteps(engine, encodedRoutes(routes)))
  if (parts.length > 0) throw new Error(`expected rules for one response, found ${1 + parts.length} parts`)
  return last
}

const { routes: compiled } = compileRoutes(ROUTES, undefined)
if (compiled === undefined) throw new Error('the routes are ambiguous')
export const ROUTED: Routes = compiled

/**
 * The rules of a sidecar that is newer: the kind that is allowed has an unknown number, and each cell has one
 * more reason.
 */
function newer(engine: Engine): Buffer {
  const { cells, ...rules } = wire.Rules.decode(rulesOf(engine))
  const newReason = (reason: Reason) => (reason === Reason.REASON_ALLOWED ? (999 as Reason) : reason)
  const changed = cells.map(({ reasons }) => ({
    reasons: [...reasons.map(newReason), Reason.REASON_ALLOWED],
  }))
  return encode(wire.Rules, { ...rules, cells: changed })
}

/** The rules of a sidecar of the release before, which says less about where tokens travel. */
function released(engine: Engine): Buffer {
  const rules = wire.Rules.decode(rulesOf(engine))
  for (const kind of rules.matrix?.tokenKinds ?? []) kind.places = []
  return encode(wire.Rules, rules)
}

/** The same rules in three messages: each list goes on in the next one. */
function inParts(rules: wire.Rules): Record<string, Buffer> {
  const { apis, cells, routes: { routes = [], overrides = [] } = {} } = rules
  const part = (fields: Partial<wire.Rules>) =>
    encode(wire.Rules, { ...{ matrix: undefined, cells: [], apis: [], routes: undefined }, ...fields })
  return {
    'routed-1': part({
      ...{ apis: apis.slice(0, 10), cells: cells.slice(0, 3) },
      routes: { routes: routes.slice(0, 5), overrides },
    }),
    'routed-2': part({ apis: apis.slice(10, 25), routes: { routes: routes.slice(5), overrides: [] } }),
    'routed-end': part({ matrix: rules.matrix, apis: apis.slice(25), cells: cells.slice(3) }),
  }
}

/** The files of the suite, by their names. */
export function rulesFiles(): Record<string, Buffer> {
  const { shipped } = ENGINES as { readonly shipped: Engine }
  const routed = rulesOf(shipped, ROUTED)
  return {
    ...Object.fromEntries(Object.entries(ENGINES).map(([name, engine]) => [name, rulesOf(engine)])),
    ...{ routed, ...inParts(wire.Rules.decode(routed)) },
    newer: newer(shipped),
    released: released(shipped),
    moved: rulesOf(MOVED),
  }
}

/** Rules with this many APIs in their parts: files of megabytes, which are not kept. */
export function largeRules(count: number): Buffer[] {
  const { parts, last } = finish(rulesInSteps(made(manyApis(count)), []))
  return [...parts.map(partIn), last]
}

function partIn(response: Buffer): Buffer {
  const { rulesPart } = wire.WatchChangesResponse.decode(response)
  if (rulesPart === undefined) throw new Error('expected a response with a part of rules')
  return encode(wire.Rules, rulesPart)
}
