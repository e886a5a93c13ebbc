/**
 * The subject, action, resource and context of AuthZEN in the terms of the product: a subject is a token
 * or a credential, a resource is an API. Unknown fields are ignored, as the specification demands. A known
 * one of the wrong type never is.
 */
import type { CredentialHeaders, Scope } from '../../../engine/index.ts'
import { type FieldViolation, invalidFields } from '../../base/call-error.ts'
import { type IpAddress, ipAddress, isNoAddress } from '../../base/ip-address.ts'
import { isObject } from '../json.ts'

/** An object of a request. */
export type Fields = Readonly<Record<string, unknown>>

export type Subject =
  /** Claims that are trusted. No scope: any token of the kind is meant. */
  | { readonly type: 'token'; readonly kind: string; readonly scope: Scope | undefined }
  /** Headers as they arrived, with a credential to verify. */
  | { readonly type: 'credential'; readonly headers: CredentialHeaders }
  | { readonly type: 'unknown' }

type Resource =
  | { readonly type: 'api'; readonly api: string; readonly target: Scope | undefined }
  | { readonly type: 'unknown' }

type Action = 'call' | 'unknown'

/** The entities that are asked about. */
export interface Entities {
  readonly subject: Subject
  readonly action: Action
  readonly resource: Resource
  readonly clientAddress: IpAddress | undefined
}

/** The entity that a search looks for. Its id is not read. */
export type Searched = 'subject' | 'resource' | 'action'

/** Most values of headers in one credential. Each check looks at all of them. */
const HEADERS_MAX = 1_000

/** @throws CallError unless it is an object */
export function expectFields(value: unknown, field: string): Fields {
  if (isObject(value)) return value
  throw invalidFields([{ field, expected: 'an object' }])
}

/**
 * Reads what is asked about.
 *
 * @param path of `fields`, for errors
 * @param defaults for entities that are not there
 * @throws CallError that names everything that is missing or mistyped
 */
export function readEntities(
  fields: Fields,
  {
    path = '',
    defaults = {},
    searched,
  }: {
    readonly path?: string
    readonly defaults?: Partial<Entities>
    readonly searched?: Searched
  } = {},
): Entities {
  const faults = new Faults(path)
  const { subject, action, resource, context } = fields
  const entities: Entities = {
    subject:
      (subject === undefined && defaults.subject) || readSubject(subject, faults, searched === 'subject'),
    action:
      searched === 'action'
        ? 'call'
        : (action === undefined && defaults.action) || readAction(action, faults),
    resource:
      (resource === undefined && defaults.resource) ||
      readResource(resource, faults, searched === 'resource'),
    clientAddress: context === undefined ? defaults.clientAddress : readClientAddress(context, faults),
  }
  faults.throwAny()
  return entities
}

/** Reads the entities that are there. @throws CallError as `readEntities` does */
export function readDefaults({ subject, action, resource, context }: Fields): Partial<Entities> {
  const faults = new Faults('')
  const defaults: Partial<Entities> = {
    ...(subject !== undefined && { subject: readSubject(subject, faults, false) }),
    ...(action !== undefined && { action: readAction(action, faults) }),
    ...(resource !== undefined && { resource: readResource(resource, faults, false) }),
    clientAddress: context === undefined ? undefined : readClientAddress(context, faults),
  }
  faults.throwAny()
  return defaults
}

function readSubject(value: unknown, faults: Faults, searched: boolean): Subject {
  const entity = readEntity('subject', value, faults, searched)
  if (entity?.type === 'token')
    return { type: 'token', kind: entity.id, scope: readOwner('subject', entity.properties, faults) }
  if (entity?.type !== 'credential') return UNKNOWN
  // An empty list would mean that no subject may.
  if (searched) faults.add('subject.type', '`token`, because credentials are secret and cannot be listed')
  return { type: 'credential', headers: readHeaders(entity.properties.headers, faults) }
}

function readResource(value: unknown, faults: Faults, searched: boolean): Resource {
  const entity = readEntity('resource', value, faults, searched)
  if (entity?.type !== 'api') return UNKNOWN
  return { type: 'api', api: entity.id, target: readOwner('resource', entity.properties, faults) }
}

function readAction(value: unknown, faults: Faults): Action {
  if (!isObject(value)) {
    faults.add('action', 'an object with `name`')
    return 'unknown'
  }
  const name = readText('action', value, 'name', faults)
  readProperties('action', value, faults)
  return name === 'call' ? 'call' : 'unknown'
}

function readClientAddress(context: unknown, faults: Faults): IpAddress | undefined {
  if (!isObject(context)) {
    faults.add('context', 'an object, or none')
    return undefined
  }
  const { client_address: text } = context
  const address = typeof text === 'string' ? ipAddress(text) : undefined
  if (address === undefined && text !== undefined && !(typeof text === 'string' && isNoAddress(text)))
    faults.add('context.client_address', 'an IPv4 or IPv6 address, or none')
  return address
}

const UNKNOWN = { type: 'unknown' } as const

/** @param searched whether the id is looked for, and so not read */
function readEntity(
  field: 'subject' | 'resource',
  value: unknown,
  faults: Faults,
  searched: boolean,
): { readonly type: string; readonly id: string; readonly properties: Fields } | undefined {
  if (!isObject(value)) {
    faults.add(field, searched ? 'an object with `type`' : 'an object with `type` and `id`')
    return undefined
  }
  return {
    type: readText(field, value, 'type', faults),
    id: searched ? '' : readText(field, value, 'id', faults),
    properties: readProperties(field, value, faults),
  }
}

function readText(field: string, entity: Fields, key: string, faults: Faults): string {
  const value = entity[key]
  if (typeof value === 'string') return value
  faults.add(`${field}.${key}`, 'a string')
  return ''
}

function readProperties(field: string, { properties = {} }: Fields, faults: Faults): Fields {
  if (isObject(properties)) return properties
  faults.add(`${field}.properties`, 'an object, or none')
  return {}
}

/** The account and the project, of a token or of a resource. */
function readOwner(field: string, properties: Fields, faults: Faults): Scope | undefined {
  const read = (key: string): string | undefined => {
    const value = properties[key]
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      faults.add(`${field}.properties.${key}`, 'a non-empty string, or none')
    return typeof value === 'string' ? value : undefined
  }
  const account = read('account')
  const project = read('project')
  if (account !== undefined) return { account, project }
  if (project !== undefined) faults.add(`${field}.properties.account`, 'the account of the project')
  return undefined
}

function readHeaders(value: unknown, faults: Faults): CredentialHeaders {
  const field = 'subject.properties.headers'
  const headers = isObject(value) ? Object.entries(value) : []
  if (!isObject(value) || !headers.every(isHeader)) {
    faults.add(field, 'an object of header names, each with a string or an array of strings')
    return []
  }
  const count = headers.reduce((sum, [, values]) => sum + (typeof values === 'string' ? 1 : values.length), 0)
  if (count > HEADERS_MAX) faults.add(field, `at most ${HEADERS_MAX} values`)
  return headers
}

function isHeader(header: [name: string, values: unknown]): header is [string, string | string[]] {
  const [, values] = header
  return [values].flat().every((value) => typeof value === 'string')
}

/** The faults of a request, field by field. */
class Faults {
  readonly #path: string
  readonly #violations: FieldViolation[] = []

  constructor(path: string) {
    this.#path = path
  }

  add(field: string, expected: string): void {
    this.#violations.push({ field: `${this.#path}${field}`, expected })
  }

  throwAny(): void {
    if (this.#violations.length > 0) throw invalidFields(this.#violations)
  }
}
