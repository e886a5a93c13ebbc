/** Faults of policy tests beyond the schema: unknown ids, and tests that contradict themselves. */
import { type Engine, namesMeant } from '../../engine/index.ts'
import { type Problem, Problems, pathOf } from '../document/index.ts'
import { type ApiTest, apisOf, kindsOf, type PolicyTest, type PolicyTests } from './document.ts'

type Path = readonly (string | number)[]

/** The faults of the tests of a file. @param hasRoutes whether there are routes to find requests by */
export function testProblems(
  { tokens = {}, tests }: PolicyTests,
  { apis, tokenKinds }: Pick<Engine, 'apis' | 'tokenKinds'>,
  hasRoutes: boolean,
): readonly Problem[] {
  const problems = new Problems()
  const expect = (holds: boolean, path: Path, expected: string) => {
    if (!holds) problems.add(() => ({ path: pathOf(path), expected }))
  }
  const known = (what: string, id: string, ids: ReadonlyMap<string, unknown>, path: Path) => {
    if (!ids.has(id)) problems.add(() => ({ path: pathOf(path), expected: unknownId(what, id, ids.keys()) }))
  }
  const knownKind = (id: string, path: Path) => known('kind', id, tokenKinds, path)

  for (const [value, { kind, fault }] of Object.entries(tokens)) {
    const at = ['tokens', value]
    if (kind !== undefined) knownKind(kind, [...at, 'kind'])
    expect(kind !== undefined || fault !== undefined, at, 'expected a kind, a fault, or both')
  }
  for (const [index, test] of tests.entries()) {
    const at: Path = ['tests', index]
    for (const [path, expected] of contradictionsOf(test)) expect(false, [...at, ...path], expected)
    for (const [place, id] of (test.accepted ?? []).entries()) knownKind(id, [...at, 'accepted', place])
    if (test.request !== undefined) {
      if (test.api !== undefined) known('API', test.api, apis, [...at, 'api'])
      expect(hasRoutes, [...at, 'request'], 'expected `routes` in this file, or --config with the routes')
      continue
    }
    // A test of what happens to an unknown id has one.
    if (test.reason !== 'UNKNOWN_API')
      for (const [place, id] of apisOf(test).entries())
        known('API', id, apis, test.apis === undefined ? [...at, 'api'] : [...at, 'apis', place])
    if (test.reason !== 'UNKNOWN_TOKEN_KIND')
      for (const [place, id] of (kindsOf(test) ?? []).entries())
        knownKind(id, test.kinds === undefined ? [...at, 'kind'] : [...at, 'kinds', place])
  }
  return problems.list()
}

/** The names that may have been meant; or, where none is near, all known names. */
function unknownId(what: string, id: string, ids: Iterable<string>): string {
  const all = [...ids]
  const near = namesMeant(id, all)
  const hint =
    near.length > 0
      ? `did you mean ${near.map((each) => `\`${each}\``).join(' or ')}?`
      : `expected one of ${all.slice(0, NAMED_MAX).join(', ')}${all.length > NAMED_MAX ? ', …' : ''}`
  return `there is no ${what} \`${id}\` in the matrix; ${hint}`
}

const NAMED_MAX = 10

/** The contradictions of a test. */
function contradictionsOf(test: PolicyTest): [path: Path, expected: string][] {
  const { allowed, reason, accepted } = test
  const found: [Path, string][] = []
  const expect = (holds: boolean, path: Path, expected: string) => {
    if (!holds) found.push([path, expected])
  }
  const expectsAllowed = allowed ?? reason === 'ALLOWED'
  expect(
    reason === undefined || allowed === undefined || allowed === (reason === 'ALLOWED'),
    ['allowed'],
    `expected ${reason === 'ALLOWED'}, as the reason says`,
  )
  if (test.request === undefined) return [...found, ...contradictionsOfApi(test)]
  const says = [allowed, reason, accepted, test.api, test.target, test.refused]
  expect(
    says.some((each) => each !== undefined),
    [],
    'expected one of allowed, reason, accepted, api, target and refused',
  )
  if (test.refused !== undefined) {
    const others = { reason, accepted, api: test.api, target: test.target }
    for (const [name, value] of Object.entries(others))
      expect(value === undefined, [name], 'expected nothing here, because the routes find no API')
    expect(expectsAllowed !== true, ['allowed'], 'expected false, because the routes find no API')
  }
  return found
}

function contradictionsOfApi(test: ApiTest): [path: Path, expected: string][] {
  const found: [Path, string][] = []
  const expect = (holds: boolean, path: Path, expected: string) => {
    if (!holds) found.push([path, expected])
  }
  const { api, apis, kind, kinds, headers, scope, target, holder } = test
  expect((api === undefined) !== (apis === undefined), [], 'expected exactly one of api, apis and request')
  expect(kind === undefined || kinds === undefined, ['kinds'], 'expected one of kind and kinds')
  const says = [test.allowed, test.reason, test.accepted]
  expect(
    says.some((each) => each !== undefined),
    [],
    'expected one of allowed, reason and accepted',
  )
  expect(
    target === undefined || scope !== undefined || headers !== undefined,
    ['target'],
    'expected a scope beside it, which says whose token asks',
  )
  if (headers !== undefined)
    for (const [name, value] of Object.entries({ kind, kinds, scope, holder }))
      expect(value === undefined, [name], 'expected nothing here, because `tokens` says it of the credential')
  return found
}
