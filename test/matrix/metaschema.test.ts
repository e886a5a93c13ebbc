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
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
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

describe.each(SCHEMAS)('%s', (path) => {
  const schema: Schema = JSON.parse(readFileSync(ROOT + path, 'utf8'))

  test('is a JSON Schema of 2020-12', () => {
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
    const ajv = new Ajv2020({ strict: false })
    expect(ajv.validateSchema(schema), ajv.errorsText()).toBe(true)
  })

  test('describes every property', () => {
    expect(undescribed(schema, schema.$defs ?? {}, '')).toEqual([])
  })
})

/** Keywords whose schemas are conditions, which no editor shows. */
const CONDITIONS = ['if', 'not']

/** The properties without a description of their own or of the definition that they refer to. */
function undescribed(value: unknown, definitions: Readonly<Record<string, Schema>>, at: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { properties = {} } = value as Schema
  const own = Object.entries(properties).flatMap(([name, property]) => {
    const referred = definitions[property.$ref?.replace('#/$defs/', '') ?? '']
    return property.description === undefined && referred?.description === undefined ? [`${at}.${name}`] : []
  })
  const below = Object.entries(value).flatMap(([key, each]) =>
    CONDITIONS.includes(key) ? [] : undescribed(each, definitions, `${at}.${key}`),
  )
  return [...own, ...below]
}
