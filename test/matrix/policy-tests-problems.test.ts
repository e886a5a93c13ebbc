/** Policy tests that cannot be asked: unknown ids, and tests that contradict themselves. */
import { describe, expect, test } from 'vitest'
import type { PolicyTest } from '../../matrix/policy-tests/document.ts'
import { testProblems } from '../../matrix/policy-tests/problems.ts'
import { ACCOUNT_KIND, engine, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'

const CELL = { api: 'iam', kind: STATIC_KIND }

describe('a test is refused that', () => {
  test.each<[claim: string, one: PolicyTest, path: string, expected: string]>([
    [
      'asks about an unknown API',
      { ...CELL, api: 'iams', allowed: false },
      '.api',
      'there is no API `iams` in the matrix; did you mean `iam`?',
    ],
    [
      'lists one',
      { apis: ['iam', 'cdm'], allowed: false },
      '.apis[1]',
      'there is no API `cdm` in the matrix; did you mean `cdn`?',
    ],
    [
      'asks about an unknown kind',
      { api: 'iam', kind: 'static_tokn', allowed: false },
      '.kind',
      'there is no kind `static_tokn` in the matrix; did you mean `static_token`?',
    ],
    [
      'lists an unknown kind',
      { api: 'iam', kinds: [STATIC_KIND, 'static_tokn'], allowed: false },
      '.kinds[1]',
      'there is no kind `static_tokn` in the matrix; did you mean `static_token`?',
    ],
    [
      'expects one',
      { ...CELL, accepted: ['api_key'] },
      '.accepted[0]',
      `there is no kind \`api_key\` in the matrix; expected one of ${ACCOUNT_KIND}, ${PROJECT_KIND}, ${STATIC_KIND}`,
    ],
    [
      'expects an unknown API of the routes',
      { request: 'GET /', api: 'iams' },
      '.api',
      'there is no API `iams` in the matrix; did you mean `iam`?',
    ],
    ['expects nothing', CELL, '', 'expected one of allowed, reason and accepted'],
    [
      'expects nothing of a request',
      { request: 'GET /' },
      '',
      'expected one of allowed, reason, accepted, api, target and refused',
    ],
    [
      'asks about no API',
      { kind: STATIC_KIND, allowed: true },
      '',
      'expected exactly one of api, apis and request',
    ],
    [
      'has both api and apis',
      { api: 'iam', apis: ['iam'], allowed: true },
      '',
      'expected exactly one of api, apis and request',
    ],
    [
      'has both kind and kinds',
      { ...CELL, kinds: [STATIC_KIND], allowed: true },
      '.kinds',
      'expected one of kind and kinds',
    ],
    [
      'is allowed with a reason for a denial',
      { ...CELL, allowed: true, reason: 'CONTESTED' },
      '.allowed',
      'expected false, as the reason says',
    ],
    [
      'is denied with the reason ALLOWED',
      { ...CELL, allowed: false, reason: 'ALLOWED' },
      '.allowed',
      'expected true, as the reason says',
    ],
    [
      'has a target without a scope',
      { ...CELL, target: { account: '1' }, allowed: true },
      '.target',
      'expected a scope beside it, which says whose token asks',
    ],
    [
      'names the kind of what tokens describe',
      { ...CELL, headers: {}, allowed: false },
      '.kind',
      'expected nothing here, because `tokens` says it of the credential',
    ],
    [
      'expects a decision of a refused request',
      { request: 'GET /', refused: 'NO_ROUTE', reason: 'CONTESTED' },
      '.reason',
      'expected nothing here, because the routes find no API',
    ],
    [
      'expects that a refused request passes',
      { request: 'GET /', refused: 'NO_ROUTE', allowed: true },
      '.allowed',
      'expected false, because the routes find no API',
    ],
  ])('%s', (_claim, one, path, expected) => {
    const document = { tests: [{ ...CELL, allowed: false } as PolicyTest, one] }
    expect(testProblems(document, engine, true)).toEqual([{ path: `tests[1]${path}`, expected }])
  })

  test('asks about a request without routes', () => {
    const document = { tests: [{ request: 'GET /', allowed: false }] }
    expect(testProblems(document, engine, false)).toEqual([
      { path: 'tests[0].request', expected: 'expected `routes` in this file, or --config with the routes' },
    ])
  })

  test('has a token of no kind and without a fault, or of an unknown kind', () => {
    const tokens = { a: {}, b: { kind: 'none' } }
    expect(testProblems({ tokens, tests: [] }, engine, false)).toEqual([
      { path: 'tokens.a', expected: 'expected a kind, a fault, or both' },
      { path: 'tokens.b.kind', expected: expect.stringContaining('there is no kind `none`') },
    ])
  })

  test('expects a refused request to pass, by its reason', () => {
    const tests: PolicyTest[] = [{ request: 'GET /', refused: 'NO_ROUTE', reason: 'ALLOWED' }]
    expect(testProblems({ tests }, engine, true).map(({ path }) => path)).toEqual([
      'tests[0].reason',
      'tests[0].allowed',
    ])
  })

  test.each<[names: number, asked: string, hint: string]>([
    [2, 'door-x', 'did you mean `door-0` or `door-1`?'],
    [10, 'zzz', `expected one of ${doors(10).join(', ')}`],
    [11, 'zzz', `expected one of ${doors(10).join(', ')}, …`],
  ])('names an API that is not among %d', (count, asked, hint) => {
    const apis = new Map(doors(count).map((id) => [id, id])) as unknown as typeof engine.apis
    const tests: PolicyTest[] = [{ api: asked, kind: STATIC_KIND, allowed: true }]
    expect(testProblems({ tests }, { ...engine, apis }, true).map(({ expected }) => expected)).toEqual([
      `there is no API \`${asked}\` in the matrix; ${hint}`,
    ])
  })
})

function doors(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `door-${index}`)
}
