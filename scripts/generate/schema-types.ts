/** Writes the keys of a configuration file as an interface of TypeScript, with their descriptions. */

/** As much of JSON Schema as the schemas of configuration files use. */
export interface KeySchema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly $ref?: string
  readonly description?: string
  readonly default?: unknown
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, KeySchema>>
  readonly additionalProperties?: boolean | KeySchema
  readonly items?: KeySchema
  readonly $defs?: Readonly<Record<string, KeySchema>>
}

const LINE_WIDTH = 110

/** The interface of what is read: a key with a default is always there, and so is the group that it is in. */
export function interfaceOf(name: string, schema: KeySchema): string {
  const definitions = schema.$defs ?? {}
  return `${docsOf(schema, '')}export interface ${name} ${groupOf(schema, '')}\n`

  function groupOf({ properties = {}, required = [] }: KeySchema, indent: string): string {
    const inner = `${indent}  `
    const keys = Object.entries(properties).map(([key, each]) => {
      const isThere = required.includes(key) || hasDefault(each)
      return `${docsOf(each, inner)}${inner}readonly ${key}${isThere ? '' : '?'}: ${typeOf(each, inner)}\n`
    })
    return `{\n${keys.join('')}${indent}}`
  }

  function typeOf(key: KeySchema, indent: string): string {
    if (key.$ref !== undefined) return typeOf(definitionOf(key.$ref), indent)
    if (key.enum !== undefined) return key.enum.map((value) => `'${value}'`).join(' | ')
    if (typeof key.type === 'object')
      return key.type.map((type) => typeOf({ ...key, type }, indent)).join(' | ')
    switch (key.type) {
      case 'array':
        return arrayOf(typeOf(key.items ?? {}, indent))
      case 'object':
        return typeof key.additionalProperties === 'object'
          ? `Readonly<Record<string, ${typeOf(key.additionalProperties, indent)}>>`
          : groupOf(key, indent)
      case 'integer':
        return 'number'
      case 'string':
      case 'boolean':
        return key.type
    }
    throw new Error(`${name}: no type for ${JSON.stringify(key)}`)
  }

  function definitionOf(reference: string): KeySchema {
    const definition = definitions[reference.replace('#/$defs/', '')]
    if (definition === undefined) throw new Error(`${name}: there is no ${reference}`)
    return definition
  }
}

function arrayOf(item: string): string {
  const isUnion = !item.startsWith('{') && item.includes(' | ')
  return isUnion ? `readonly (${item})[]` : `readonly ${item}[]`
}

function hasDefault(key: KeySchema): boolean {
  return key.default !== undefined || Object.values(key.properties ?? {}).some(hasDefault)
}

/** The description as a comment, on one line or on as many as it needs. */
function docsOf({ description, default: fallback }: KeySchema, indent: string): string {
  const tag = fallback === undefined ? [] : [`@default ${JSON.stringify(fallback)}`]
  const text = [...(description === undefined ? [] : [description]), ...tag].join(' ')
  if (text === '') return ''
  if (indent.length + text.length + 7 <= LINE_WIDTH) return `${indent}/** ${text} */\n`
  const width = LINE_WIDTH - indent.length - 3
  const lines = [
    ...((description ?? '').match(new RegExp(`\\S(.{0,${width - 1}})(?=\\s|$)`, 'g')) ?? []),
    ...tag,
  ]
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`
}
