/**
 * The chart's schema of values takes every key of the configuration that the chart does not set, and refuses
 * what the configuration refuses. That Helm says so, too, shows test/nightly/kubernetes.test.ts.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import schema from '../../sidecar/config/config.schema.json' with { type: 'json' }
import { validate } from '../../sidecar/config/gen/config.ts'
import { ROOT } from '../support/checkout/sources.ts'

interface Key {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Key>>
  readonly items?: Key
  readonly additionalProperties?: boolean | Key
}

/** Keys that a value of the chart sets, or the chart itself, by shape. */
const SET: Readonly<Record<string, readonly string[]>> = {
  configuration: [
    ...['data', 'callers', 'directory.url', 'grpc.socket'],
    ...['grpc.tls.certificate', 'grpc.tls.key', 'grpc.tls.client_ca'],
  ],
  sidecar: ['data', 'directory.url', 'grpc.address', 'grpc.tls'],
}

/** One of them is a text for each pattern. */
const TEXTS = ['0.0.0.0:1', 'a', 'https://a.example', 'postgres://a', 'ab'.repeat(32), '0600']

const resolved = (key: Key): Key =>
  key.$ref === undefined
    ? key
    : ((schema.$defs as Record<string, Key>)[key.$ref.slice('#/$defs/'.length)] ?? {})

/** A value with as little as the key needs. */
function sampleOf(given: Key): unknown {
  const key = resolved(given)
  if (key.enum !== undefined) return key.enum[0]
  const type = Array.isArray(key.type) ? key.type[0] : key.type
  if (type === 'integer') return key.minimum ?? 1
  if (type === 'boolean') return true
  if (type === 'array') return [sampleOf(key.items ?? {})]
  if (type === 'string') return TEXTS.find((text) => new RegExp(key.pattern ?? '', 'u').test(text))
  if (typeof key.additionalProperties === 'object') return { a: sampleOf(key.additionalProperties) }
  return Object.fromEntries(
    (key.required ?? []).map((name) => [name, sampleOf(key.properties?.[name] ?? {})]),
  )
}

/** Values that the key refuses. */
function wrongOf(given: Key): unknown[] {
  const key = resolved(given)
  const wrong: unknown[] = [null, key.type === 'boolean' ? 'x' : true]
  if (key.minimum !== undefined) wrong.push(key.minimum - 1, key.minimum + 0.5)
  if (key.maximum !== undefined) wrong.push(key.maximum + 1)
  if (key.maxLength !== undefined) wrong.push('a'.repeat(key.maxLength + 1))
  if (key.enum !== undefined || key.pattern !== undefined) wrong.push(' ')
  if (key.properties !== undefined) wrong.push({ ...(sampleOf(key) as object), unknown_key: 1 })
  return wrong
}

interface Place {
  readonly path: string
  readonly key: Key
  /** A configuration with this value there. */
  readonly with: (value: unknown) => object
}

/** Every key, also of the items of lists and maps. */
function placesOf(given: Key, path: string, place: (value: unknown) => object): Place[] {
  const key = resolved(given)
  const inner = Object.entries(key.properties ?? {}).flatMap(([name, each]) =>
    placesOf(each, path === '' ? name : `${path}.${name}`, (value) =>
      place({ ...(sampleOf(key) as object), [name]: value }),
    ),
  )
  const items = key.items === undefined ? [] : placesOf(key.items, `${path}[]`, (value) => place([value]))
  const map = typeof key.additionalProperties === 'object' ? key.additionalProperties : undefined
  const values = map === undefined ? [] : placesOf(map, `${path}.*`, (value) => place({ a: value }))
  return [{ path, key, with: place }, ...inner, ...items, ...values]
}

const places = placesOf(schema as Key, '', (value) => value as object).filter(({ path }) => path !== '')

const accepts = new Ajv({ strict: false }).compile(
  JSON.parse(readFileSync(join(ROOT, 'deploy/helm/portcullis/values.schema.json'), 'utf8')),
)
const callers = [{ name: 'a', certificate: { dns: 'a.example' } }]
const chartTakes = (shape: string, given: object) =>
  accepts(
    shape === 'sidecar'
      ? { standalone: false, sidecar: { configuration: given } }
      : { standalone: true, callers, configuration: given },
  )

describe.each(Object.keys(SET))('%s', (shape) => {
  const isSet = (path: string) =>
    SET[shape]?.some((name) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`))

  test('takes every key but those that the chart sets', () => {
    expect(places.length).toBeGreaterThan(200)
    const taken = places.filter((place) => {
      const given = JSON.stringify(place.with(sampleOf(place.key)))
      // The chart has the files that this group needs.
      const isGroup = place.path === 'grpc.tls' || place.path === 'grpc.tls.any_client'
      return chartTakes(
        shape,
        JSON.parse(isGroup ? given.replace(/"(certificate|key|client_ca)":"[^"]*",?/g, '') : given),
      )
    })
    const others = places.filter((place) => !taken.includes(place)).map(({ path }) => path)
    expect(others.filter((path) => !isSet(path))).toEqual([])
    expect(taken.filter(({ path }) => isSet(path)).map(({ path }) => path)).toEqual([])
  })

  test('refuses what the configuration refuses', () => {
    const missed = places.flatMap((place) =>
      wrongOf(place.key)
        .map((value) => place.with(value))
        .filter((given) => !validate(given) && chartTakes(shape, given))
        .map((given) => `${place.path}: ${JSON.stringify(given).slice(0, 200)}`),
    )
    expect(missed).toEqual([])
  })

  test('takes what the configuration takes at the bounds', () => {
    const refused = places.flatMap(({ path, key, with: place }) =>
      [key.minimum, key.maximum]
        .filter((value) => value !== undefined)
        .map(place)
        .filter((given) => validate(given) && !isSet(path) && !chartTakes(shape, given)),
    )
    expect(refused).toEqual([])
  })
})

test.each<[what: string, values: object]>([
  ['no caller with a certificate', { callers: [{ name: 'a', token_file: '/a' }] }],
  ['a caller without anything', { callers: [...callers, { name: 'b' }] }],
  [
    'a caller with two tokens',
    { callers: [...callers, { name: 'b', token_file: '/b', token_sha256: 'ab'.repeat(32) }] },
  ],
  ['a caller with two names', { callers: [{ name: 'a', certificate: { dns: 'a', uri: 'spiffe://a' } }] }],
  ['an old right', { callers: [{ ...callers[0], administrator: true }] }],
  [
    'a directory in a file for two pods',
    { callers, secrets: { directory: '' }, replicas: 2, dataVolume: { a: {} } },
  ],
  ['a data folder that ends with its pod', { callers, secrets: { data: '' } }],
  ['a sidecar without keys and a hub', { callers, sidecar: { data: '' } }],
  [
    'an upgrade by a follower',
    { callers, configuration: { directory: { hub: { addresses: ['a'] } } }, migration: { enabled: true } },
  ],
  ['a variable that the chart sets', { callers, env: [{ name: 'PORTCULLIS_DIRECTORY_URL', value: 'x' }] }],
  ['a volume of the chart', { callers, volumes: [{ name: 'tls', emptyDir: {} }] }],
])('refuses %s', (_what, values) => {
  expect(accepts({ standalone: true, callers })).toBe(true)
  expect(accepts({ standalone: true, ...values })).toBe(false)
})

test('takes other callers where every client with a certificate may call', () => {
  const configuration = { grpc: { tls: { any_client: true } } }
  expect(accepts({ standalone: true, callers: [{ name: 'a', token_file: '/a' }], configuration })).toBe(true)
})
