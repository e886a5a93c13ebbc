/**
 * The schemas of the package are schemas: that is not checked when they are used, because it takes longer
 * than their use.
 */
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'

test.each([
  'matrix/support-matrix.schema.json',
  'sidecar/config/config.schema.json',
  'sidecar/config/directory.schema.json',
  'sidecar/config/policy-tests.schema.json',
  'sidecar/cli/commands/matrix/allowed-flips.schema.json',
])('%s is a JSON Schema of 2020-12', (path) => {
  const schema = JSON.parse(readFileSync(ROOT + path, 'utf8'))
  expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
  const ajv = new Ajv2020({ strict: false })
  expect(ajv.validateSchema(schema), ajv.errorsText()).toBe(true)
})
