/**
 * Discovery and the service catalog in Keystone's format. Every address in them comes from the configuration.
 */
import { createHash } from 'node:crypto'

/** The facts that the HTTP server sends clients about itself. */
export interface Site {
  /** URL of the server for clients, without a slash at the end. */
  readonly url: string
  /** `{auth_url}/identity`, without a slash at the end. */
  readonly identityUrl: string
  readonly catalog: Catalog
  /** Each region that an endpoint is in, that of the identity service first. */
  readonly regions: readonly string[]
}

export interface CatalogEntry {
  readonly id: string
  readonly type: string
  readonly name: string
  readonly endpoints: readonly {
    readonly id: string
    readonly interface: string
    readonly region: string
    readonly region_id: string
    readonly url: string
  }[]
}

/** For whom a catalog is. */
interface CatalogReader {
  /** Id of the project of the token; `undefined`: it is for an account. */
  readonly projectId?: string | undefined
  readonly userId: string
}

/** A service that the configuration adds to the catalog, with one endpoint (`url`) or several. */
export interface CatalogService extends Partial<CatalogEndpoint> {
  readonly type: string
  readonly name: string
  readonly endpoints?: readonly CatalogEndpoint[] | undefined
}

interface CatalogEndpoint {
  /** May have `%(project_id)s` in it. */
  readonly url: string
  /** `undefined`: the region of the identity service. */
  readonly region?: string | undefined
  /** `undefined`: all three. */
  readonly interfaces?: readonly string[] | undefined
}

/** Middleware uses `internal`, command lines use `public`, and some administration tools use `admin`. */
const INTERFACES = ['public', 'internal', 'admin']

const IDENTITY = { type: 'identity', name: 'portcullis' }

/** The names that Keystone replaces in the URL of an endpoint, where it is between `%(` or `$(` and `)s`. */
const TEMPLATE = /[%$]\(([^()]*)\)s?/g
const TEMPLATES = ['project_id', 'tenant_id', 'user_id']

/** The services as a token shows them. */
class Catalog {
  readonly #entries: readonly CatalogEntry[]
  readonly #hasTemplates: boolean

  constructor(entries: readonly CatalogEntry[]) {
    this.#entries = entries
    this.#hasTemplates = entries.some(({ endpoints }) => endpoints.some(({ url }) => url.match(TEMPLATE)))
  }

  /** As Keystone does, it leaves out what has a project in its URL if the reader has none. */
  for({ projectId, userId }: CatalogReader): readonly CatalogEntry[] {
    if (!this.#hasTemplates) return this.#entries
    const values = new Map([
      ['project_id', projectId],
      ['tenant_id', projectId],
      ['user_id', userId],
    ])
    return this.#entries.flatMap((entry) => {
      const endpoints = entry.endpoints.flatMap((endpoint) => {
        const url = filled(endpoint.url, values)
        return url === undefined ? [] : [{ ...endpoint, url }]
      })
      return endpoints.length === 0 ? [] : [{ ...entry, endpoints }]
    })
  }
}

/** The URL with its templates replaced; `undefined` if one of them has no value. */
function filled(url: string, values: ReadonlyMap<string, string | undefined>): string | undefined {
  let complete = true
  const text = url.replace(TEMPLATE, (_template, name: string) => {
    const value = values.get(name)
    complete &&= value !== undefined
    return value ?? ''
  })
  return complete ? text : undefined
}

/** @param publicUrl URL of the server for clients */
export function siteOf(publicUrl: string, region: string, services: readonly CatalogService[]): Site {
  const url = publicUrl.replace(/\/+$/, '')
  const identityUrl = `${url}/identity`
  const listed = services.map((service) => ({ ...service, endpoints: endpointsOf(service) }))
  // Clients look for the identity service in the region that they are set to.
  const regions = new Set([
    region,
    ...listed.flatMap(({ endpoints }) => endpoints.map((each) => each.region ?? region)),
  ])
  const identity = {
    ...IDENTITY,
    endpoints: [...regions].map((each) => ({ url: `${identityUrl}/v3`, region: each })),
  }
  return {
    url,
    identityUrl,
    regions: [...regions],
    catalog: new Catalog([identity, ...listed].map((service) => entryOf(service, region))),
  }
}

function endpointsOf({ url, region, interfaces, endpoints }: CatalogService): readonly CatalogEndpoint[] {
  return endpoints ?? (url === undefined ? [] : [{ url, region, interfaces }])
}

function entryOf(
  { type, name, endpoints }: { type: string; name: string; endpoints: readonly CatalogEndpoint[] },
  defaultRegion: string,
): CatalogEntry {
  return {
    id: idOf(type, name),
    type,
    name,
    endpoints: endpoints.flatMap(({ url, region = defaultRegion, interfaces = INTERFACES }) =>
      interfaces.map((interface_) => ({
        id: idOf(type, name, interface_, region),
        interface: interface_,
        region,
        region_id: region,
        url,
      })),
    ),
  }
}

/**
 * The rules beyond the schema of the configuration: a service is there once, and so is each of its interfaces
 * in a region.
 *
 * @throws Error that names the key
 */
export function checkCatalog(services: readonly CatalogService[], defaultRegion: string): void {
  const known = new Map([
    [JSON.stringify(Object.values(IDENTITY)), 'the identity service, which is always there'],
  ])
  services.forEach((service, index) => {
    const key = `http.catalog[${index}]`
    const { type, name, url, region, interfaces, endpoints } = service
    const earlier = known.get(JSON.stringify([type, name]))
    if (earlier !== undefined)
      throw new Error(
        `${key}: expected another type or name than ${earlier}; list all endpoints of a service in one entry`,
      )
    known.set(JSON.stringify([type, name]), key)
    if (url === undefined && endpoints === undefined)
      throw new Error(`${key}.url: expected the URL of the service, or a list of endpoints`)
    if (url !== undefined && endpoints !== undefined)
      throw new Error(`${key}.url: expected no URL beside endpoints`)
    if (endpoints !== undefined && (region ?? interfaces) !== undefined)
      throw new Error(`${key}: expected region and interfaces in each of the endpoints, not beside them`)
    checkEndpoints(key, service, defaultRegion)
  })
}

function checkEndpoints(key: string, service: CatalogService, defaultRegion: string): void {
  const known = new Map<string, string>()
  endpointsOf(service).forEach(({ url, region = defaultRegion, interfaces = INTERFACES }, index) => {
    const at = service.endpoints === undefined ? key : `${key}.endpoints[${index}]`
    for (const [template, name = ''] of url.matchAll(TEMPLATE))
      if (!TEMPLATES.includes(name) || !template.endsWith('s'))
        throw new Error(
          `${at}.url: expected no template but ${TEMPLATES.map((each) => `%(${each})s`).join(', ')}`,
        )
    for (const interface_ of interfaces) {
      const earlier = known.get(JSON.stringify([region, interface_]))
      if (earlier !== undefined)
        throw new Error(
          `${at}: expected another region or interface than ${earlier}; both are ${interface_} in ${region}`,
        )
      known.set(JSON.stringify([region, interface_]), at)
    }
  })
}

/** An id of 32 hex digits. The same parts give the same id in every process. */
export function idOf(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

/** Describes the only version of the identity API that the server supports. */
export function versionDocument({ identityUrl }: Site): object {
  return {
    id: 'v3.14',
    status: 'stable',
    updated: '2020-04-07T00:00:00Z',
    links: [{ rel: 'self', href: `${identityUrl}/v3/` }],
    'media-types': [{ base: 'application/json', type: 'application/vnd.openstack.identity-v3+json' }],
  }
}
