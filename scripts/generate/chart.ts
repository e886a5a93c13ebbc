/**
 * Brings the keys of the configuration into the schema of the chart's values, so that Helm refuses what the
 * sidecar would. The rest of that schema is written by hand, in the same file, because Helm reads one file.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../packages.ts'
import type { Made } from './made.ts'
import type { KeySchema } from './schema-types.ts'

const CONFIGURATION = 'sidecar/config/config.schema.json'
const VALUES = 'deploy/helm/portcullis/values.schema.json'

/** Where the keys are among the definitions; its own definitions have it as their beginning. */
const KEYS = 'keys'

/**
 * A text with invisible characters is refused by the configuration too. Helm's regular expressions know fewer
 * classes of characters than ours.
 */
const VISIBLE = '^[^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]*$'

export function makeChart(): Made {
  const configuration: KeySchema = JSON.parse(readFileSync(join(ROOT, CONFIGURATION), 'utf8'))
  const values: { definitions: Record<string, KeySchema> } = JSON.parse(
    readFileSync(join(ROOT, VALUES), 'utf8'),
  )
  const own = Object.entries(values.definitions).filter(([name]) => !/^keys(-|$)/.test(name))
  const { $defs = {}, title: _title, ...keys }: KeySchema & { title?: string } = configuration
  const definitions = Object.fromEntries([
    ...own,
    [KEYS, keyOf(keys)],
    ...Object.entries($defs).map(([name, each]) => [`${KEYS}-${name}`, keyOf(each)]),
  ])
  const text = `${JSON.stringify({ ...values, definitions }, null, 2)}\n`
  return { files: new Map([[VALUES, text]]), inputs: [CONFIGURATION] }
}

/** A key for draft 7, which every Helm reads. */
function keyOf(key: KeySchema, path = ''): KeySchema {
  // There, nothing but what an editor shows counts beside a reference.
  if (key.$ref !== undefined)
    return {
      ...(key.description && { description: key.description }),
      $ref: key.$ref.replace('#/$defs/', `#/definitions/${KEYS}-`),
    }
  const { default: _default, properties, items, additionalProperties, required, ...rest } = key
  const each = (group: NonNullable<typeof properties>) =>
    Object.fromEntries(
      Object.entries(group).map(([name, one]) => [name, keyOf(one, path === '' ? name : `${path}.${name}`)]),
    )
  return {
    ...rest,
    ...(key.type === 'string' && !('pattern' in key) && { pattern: VISIBLE }),
    // The chart has the files of this group.
    ...(required && path !== 'grpc.tls' && { required }),
    ...(properties && { properties: each(properties) }),
    ...(items && { items: keyOf(items) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'object' ? keyOf(additionalProperties) : additionalProperties,
    }),
  }
}
