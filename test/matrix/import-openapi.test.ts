/** OpenAPI descriptions: schemes become kinds, and operations APIs and routes; references are not fetched. */
import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import {
  DocumentError,
  type ReadOptions,
  readDocument,
  routesOf,
  routesText,
} from '../../matrix/import/index.ts'
import { json } from '../../matrix/index.ts'
import { yaml } from '../../matrix/yaml.ts'

const SCHEMES = {
  key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
  email: { type: 'apiKey', in: 'header', name: 'X-Email' },
  bearer: { type: 'http', scheme: 'bearer' },
  login: { type: 'http', scheme: 'basic' },
  login_oauth: { type: 'oauth2', flows: {} },
  crumb: { type: 'apiKey', in: 'cookie', name: 'sid' },
  query: { type: 'apiKey', in: 'query', name: 'key' },
}

const described = (paths: object, more: object = {}) => ({
  openapi: '3.1.0',
  components: { securitySchemes: SCHEMES },
  ...more,
  paths,
})
const read = (document: object, options: ReadOptions = {}) =>
  readDocument(stringify(document), 'openapi', options, yaml)
const needs = (...names: (string | readonly string[])[]) => ({
  security: names.map((name) => Object.fromEntries([name].flat().map((each) => [each, ['scope']]))),
})
const facts = (document: object, options: ReadOptions = {}) => {
  const { apis, kinds } = read(document, options)
  return apis.map(({ heading, accepts, isPublic }) => [
    heading,
    isPublic ? 'public' : '',
    ...accepts.map((kind) => kinds[kind]?.heading),
  ])
}

test('schemes become kinds with the places that they say; those without a header are left out', () => {
  const all = described({
    '/a': { get: needs('key', 'bearer', 'login', 'login_oauth', ['email', 'key'], 'crumb', 'query') },
  })
  const { kinds, leftOut } = read(all)
  expect(kinds.map(({ heading, carriage }) => [heading, carriage])).toEqual([
    ['key', { header: 'X-Api-Key' }],
    ['bearer', { header: 'Authorization', scheme: 'Bearer' }],
    ['login', { places: [{ header: 'Authorization', basic: 'password' }] }],
    ['login_oauth', { header: 'Authorization', scheme: 'Bearer' }],
    ['email with key', { places: [{ header: 'X-Api-Key', with: 'X-Email' }] }],
  ])
  expect(leftOut.map(({ line, what }) => [line, what])).toEqual([
    [21, 'security scheme “crumb”'],
    [25, 'security scheme “query”'],
  ])
})

test('a description without a kind says why its first scheme gives none', () => {
  const schemes = { key: { type: 'apiKey', in: 'header', name: 'api_key' } }
  const description = described({ '/a': { get: needs('key') } }, { components: { securitySchemes: schemes } })
  expect(() => read(description)).toThrow(
    'expected an operation with the security scheme of a header; security scheme “key”: the name of its header has other characters than letters, digits and `-`, and proxies drop it',
  )
})

test('an operation takes its own security, else that of the document; none is closed, an empty one public', () => {
  const paths = {
    '/a': { get: { operationId: 'list', ...needs('key') }, post: { security: [] } },
    '/b': { get: { security: [{}, { key: [] }] }, put: {} },
  }
  expect(facts(described(paths, needs('bearer')))).toEqual([
    ['list', '', 'key'],
    ['POST /a', 'public'],
    ['GET /b', 'public', 'key'],
    ['PUT /b', '', 'bearer'],
  ])
  expect(facts(described(paths)).at(-1)).toEqual(['PUT /b', ''])
  expect(read(described(paths)).leftOut.at(-1)?.why).toMatch(/^closed: /)
})

test('operations of a tag or a path accept what all of them accept', () => {
  const paths = {
    '/v1/loans': { get: { tags: ['Lending'], ...needs('key', 'bearer') } },
    '/v1/loans/{id}': {
      put: { tags: ['Lending'], ...needs('bearer') },
      get: { tags: ['News'], security: [] },
    },
  }
  expect(facts(described(paths), { by: 'tag' })).toEqual([
    ['Lending', '', 'bearer'],
    ['News', 'public'],
  ])
  expect(facts(described(paths), { by: 'path' })).toEqual([['loans', '']])
  expect(read(described(paths), { by: 'path' }).leftOut.at(-1)).toEqual({
    ...{ line: 31, what: '“loans”' },
    why: 'its operations accept different kinds: the API accepts what all of them do',
  })
})

test('paths become routes below the path of the servers; one that no route can say is left out', () => {
  const operation = () => needs('key')
  const reading = read(
    described(
      {
        '/repos/{ownerName}/x.{format}': { get: operation() },
        '/repos/{a}/{A}': { get: operation(), put: operation() },
        '/compare/{base}...{head}': { get: operation() },
      },
      { servers: [{ url: 'https://api.example/v4/' }] },
    ),
    { by: 'path' },
  )
  const { routes, leftOut } = routesOf(reading, ['repos', 'compare'])
  expect(routes).toEqual([
    { path: '/v4/repos/{owner_name}/x.{format}', methods: ['GET'], api: 'repos' },
    { path: '/v4/repos/{a}/{a_2}', methods: ['GET', 'PUT'], api: 'repos' },
  ])
  expect(leftOut).toEqual([
    {
      ...{ line: 47, what: 'route GET /v4/compare/{base}...{head}' },
      why: 'a route has a text and one name at the end of a segment; write the nearest: /v4/compare/{rest}',
    },
  ])
  expect(parse(routesText(routes, 'm.yaml'))).toEqual({ matrix: 'm.yaml', routes })
})

describe('references', () => {
  const item = { get: needs('key') }
  test('within the document are followed, and schemas are not looked at', () => {
    const document = {
      ...described({ '/a~b': { $ref: '#/x-items/a~0b' } }),
      'x-items': { 'a~b': item },
    }
    const circle = { properties: { self: { $ref: '#/components/schemas/S' } } }
    const components = { securitySchemes: SCHEMES, schemas: { S: circle } }
    expect(facts({ ...document, components })).toEqual([['GET /a~b', '', 'key']])
  })

  test.each<[what: string, paths: object, more: object, line: number, message: RegExp]>([
    ['out of the document', { '/a': { $ref: 'https://example.com/x.yaml' } }, {}, 31, /not fetched$/],
    ['to a file', { '/a': { $ref: 'other.yaml#/a' } }, {}, 31, /not fetched$/],
    ['in a circle', { '/a': { $ref: '#/paths/~1a' } }, {}, 31, /does not lead in a circle$/],
    ['to nothing', { '/a': { $ref: '#/constructor' } }, {}, 31, /^expected a reference to a part/],
    ['to a scheme that is not there', { '/a': { get: needs('other') } }, {}, 32, /found “other”$/],
    ['in a document without operations', {}, {}, 29, /^expected operations/],
    ['in OpenAPI 2', { '/a': item }, { openapi: '2.0' }, 1, /^expected `openapi` 3\.0 or 3\.1$/],
  ])('%s are refused in one sentence with the line', (_what, paths, more, line, message) => {
    let found: unknown
    try {
      read({ ...described(paths), ...more })
    } catch (error) {
      found = error
    }
    expect(found).toBeInstanceOf(DocumentError)
    expect(found).toMatchObject({ line, message: expect.stringMatching(message) })
  })

  test('aliases of YAML, and JSON that is not JSON, are refused', () => {
    const bomb = 'a: &a [x, x]\nb: *a\n'
    expect(() => readDocument(bomb, 'openapi', {}, yaml)).toThrow(DocumentError)
    expect(() => readDocument('{"openapi": "3.0.0",', 'openapi', {}, json)).toThrow(/^expected JSON/)
  })
})
