/**
 * A handle stands for a cell of one engine: it decides as the names do, and every other engine takes it for
 * an unknown API.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CellHandle, compile, type Engine, type Scope } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { makersOfAnything } from '../support/inputs/hostile-values.ts'
import { engine, strictEngine } from '../support/matrices/engines.ts'
import { matricesWithQuestions, questions } from '../support/matrices/generated-matrices.ts'
import { cells, scopeFor } from '../support/matrices/oracle.ts'
import { newFolder } from '../support/suite/resources.ts'

test('a handle of the shipped matrix decides as the names do', () => {
  fc.assert(
    fc.property(questions(supportMatrix), ({ api, kind, scope, target, holder }) => {
      const byName = engine.decide({ api, kind, scope, target, holder })
      expect(engine.decideAt(engine.handle(kind, api), scope, target, holder)).toBe(byName)
    }),
    { numRuns: 1_000 },
  )
})

test('a handle of any small matrix decides as the names do', () => {
  fc.assert(
    fc.property(matricesWithQuestions, ({ matrix, asked }) => {
      const compiled = compile(matrix)
      for (const { api, kind, scope, target, holder } of asked)
        expect(compiled.decideAt(compiled.handle(kind, api), scope, target, holder)).toBe(
          compiled.decide({ api, kind, scope, target, holder }),
        )
    }),
    { numRuns: 100 },
  )
})

test('each of the 90 cells has its own handle, the same object each time', () => {
  const handles = cells().map(({ api, kind }) => engine.handle(kind, api))
  expect(new Set(handles).size).toBe(90)
  expect(cells().map(({ api, kind }) => engine.handle(kind, api))).toEqual(handles)
  for (const [index, { api, kind }] of cells().entries())
    expect(engine.handle(kind, api)).toBe(handles[index])
})

test('unknown names share their handles, so that asking for many makes no further ones', () => {
  const unknown = (count: number) => Array.from({ length: count }, (_, index) => `unknown-${index}`)
  const handles = unknown(1_000).flatMap((name) => [
    engine.handle(name, name),
    engine.handle('static_token', name),
    engine.handle(name, 'iam'),
  ])
  expect(new Set(handles).size).toBe(3)
})

test('a handle is frozen, and shows nothing of the engine', () => {
  const handle = engine.handle('static_token', 'iam')
  expect(Object.isFrozen(handle)).toBe(true)
  expect(Reflect.ownKeys(handle)).toEqual([])
  expect(JSON.stringify(handle)).toBe('{}')
})

test.each([
  ['an API', 'iam_token_account', 'no-such-api', 'UNKNOWN_API'],
  ['a kind', 'no_such_kind', 'balance', 'UNKNOWN_TOKEN_KIND'],
  ['either', 'no_such_kind', 'no-such-api', 'UNKNOWN_API'],
])(
  '%s that the matrix does not know has a handle, with the denial that says so',
  (_what, kind, api, reason) => {
    const decision = engine.decideAt(engine.handle(kind, api), { account: '1' })
    expect(decision).toMatchObject({ allowed: false, reason })
  },
)

describe('a handle of another engine', () => {
  test.each([
    ['of a stricter mode', strictEngine],
    ['of the same matrix, compiled again', compile(supportMatrix)],
    [
      'of a matrix with one API less',
      compile({ ...supportMatrix, apis: supportMatrix.apis.slice(1), statements: [], conflicts: [] }),
    ],
  ])('%s is an unknown API here', (_which, other) => {
    for (const { api, kind } of cells())
      expect(engine.decideAt(other.handle(kind, api), scopeFor(kind)).reason).toBe('UNKNOWN_API')
  })

  test('of another copy of the package in the same program is an unknown API in both', async () => {
    const other: Engine = (await copyOfTheEngine()).compile(supportMatrix)
    for (const { api, kind, accepted } of cells()) {
      const scope = scopeFor(kind)
      // Each engine takes its own.
      expect(other.decideAt(other.handle(kind, api), scope).allowed).toBe(accepted)
      expect(engine.decideAt(engine.handle(kind, api), scope).allowed).toBe(accepted)
      expect(engine.decideAt(other.handle(kind, api), scope).reason).toBe('UNKNOWN_API')
      expect(other.decideAt(engine.handle(kind, api), scope).reason).toBe('UNKNOWN_API')
    }
  })
})

/** The handle of a cell that is open, and its class at run time. */
const genuine = engine.handle('iam_token_account_scoped', 'iam')
const Class = genuine.constructor as new (...parts: unknown[]) => object

test.each<[what: string, forged: unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['the number that a handle once was', 1],
  ['a text', 'iam'],
  ['an empty object', {}],
  ['a function', () => genuine],
  ['a copy of the members', { ...genuine }],
  ['a copy by structured clone', structuredClone(genuine)],
  ['a copy by JSON', JSON.parse(JSON.stringify(genuine))],
  ['an object that inherits from a handle', Object.create(genuine)],
  ['an object of the same prototype', Object.create(Object.getPrototypeOf(genuine))],
  ['a proxy of a handle', new Proxy(genuine, {})],
  ['a handle in a list', [genuine]],
  ['an object of the same class, made with another table', new Class({ answers: [] }, 0, {})],
  ['an object of the same class, made with a handle for its table', new Class(genuine, 0, genuine)],
  ['an object of the same class, made with the engine for its table', new Class(engine, 0, engine)],
])('%s in place of a handle is an unknown API', (_what, forged) => {
  const scope = { account: '123456' }
  expect(engine.decideAt(genuine, scope).reason).toBe('ALLOWED')
  expect(engine.decideAt(forged as CellHandle, scope)).toBe(
    engine.decide({ api: 'no-such-api', kind: 'static_token', scope }),
  )
})

test('whatever is given for a handle, a scope, a target and a holder, a decision comes back', () => {
  const known = new Set(engine.decisions())
  fc.assert(
    fc.property(
      fc.array(makersOfAnything, { minLength: 4, maxLength: 4 }),
      fc.constantFrom(...cells()),
      (make, cell) => {
        const [handle, scope, target, holder] = make.map((one) => one()) as [CellHandle, Scope, Scope, string]
        expect(known.has(engine.decideAt(handle, scope, target, holder))).toBe(true)
        expect(known.has(engine.decideAt(engine.handle(cell.kind, cell.api), scope, target, holder))).toBe(
          true,
        )
      },
    ),
    { numRuns: 500 },
  )
})

const folder = newFolder()

/** The package once more, as a program has it where two of its dependencies bring a copy each. */
async function copyOfTheEngine(): Promise<typeof import('../../engine/index.ts')> {
  const outfile = join(folder, 'engine.mjs')
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['engine/index.ts'],
    bundle: true,
    format: 'esm',
    target: 'es2024',
    outfile,
  })
  return import(/* @vite-ignore */ pathToFileURL(outfile).href)
}
