/**
 * The schemas of the package are schemas: that is not checked when they are used, because it takes longer
 * than their use. They describe all that they name, because editors show it.
 */
import { globSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'

interface Schema {
  readonly $schema?: string
  readonly $ref?: string
  readonly $defs?: Definitions
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: boolean | Schema
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly then?: Schema
  readonly else?: Schema
}

const SCHEMAS = globSync('{matrix,sidecar,engine,clients,console}/**/*.schema.json', {
  cwd: ROOT,
  exclude: (path) => /(?:^|\/)(?:node_modules|dist)$/.test(path),
})

test('the schemas are those of the package', () => {
  expect(SCHEMAS).toEqual(
    expect.arrayContaining(['matrix/support-matrix.schema.json', 'sidecar/config/config.schema.json']),
  )
})

test('the schema of the values of the chart describes every property', () => {
  const schema = JSON.parse(readFileSync(`${ROOT}deploy/helm/portcullis/values.schema.json`, 'utf8'))
  expect(undescribed(schema, schema.definitions)).toEqual([])
})

describe.each(SCHEMAS)('%s', (path) => {
  const schema: Schema = JSON.parse(readFileSync(ROOT + path, 'utf8'))

  test('is a JSON Schema of 2020-12', () => {
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
    const ajv = new Ajv2020({ strict: false })
    expect(ajv.validateSchema(schema), ajv.errorsText()).toBe(true)
  })

  test('describes every property', () => {
    expect(undescribed(schema, schema.$defs ?? {})).toEqual([])
  })
})

/** By their names. */
type Definitions = Readonly<Record<string, Schema>>

/** Keywords of schemas about the same value. No editor shows the conditions of `if` and `not`. */
const SAME = ['allOf', 'anyOf', 'oneOf', 'then', 'else'] as const

/** The properties that neither a schema about them nor the definition it refers to describes. */
function undescribed(schema: Schema, definitions: Definitions): string[] {
  const described = new Map<string, boolean>()
  const visit = (given: Schema, at: string, inside: readonly Schema[]): void => {
    if (inside.includes(given)) return
    const within = [...inside, given]
    const same = [referred(given, definitions), ...SAME.map((keyword) => given[keyword])].flat()
    for (const each of same) if (each !== undefined) visit(each, at, within)
    for (const [name, property] of Object.entries(given.properties ?? {})) {
      const path = `${at}.${name}`
      const text = property.description ?? referred(property, definitions)?.description
      described.set(path, described.get(path) || text !== undefined)
      visit(property, path, within)
    }
    for (const [mark, each] of [
      ['[]', given.items],
      ['.*', given.additionalProperties],
    ] as const)
      if (typeof each === 'object') visit(each, `${at}${mark}`, within)
  }
  visit(schema, '', [])
  return [...described].filter(([, isDescribed]) => !isDescribed).map(([path]) => path)
}

/** The definition that a schema refers to, here or among the properties of another. */
function referred({ $ref }: Schema, definitions: Definitions): Schema | undefined {
  const [name = '', ...rest] = $ref?.replace(/^#\/(?:\$defs|definitions)\//, '').split('/') ?? []
  return rest.reduce<unknown>((value, key) => (value as never)?.[key], definitions[name]) as
    | Schema
    | undefined
}
