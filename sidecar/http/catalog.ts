/** Discovery and the service catalog in Keystone's format. Every address in them comes from the configuration. */
import { createHash } from 'node:crypto'

/** What the HTTP server tells clients about itself. */
export interface Site {
  /** `{auth_url}/identity`, without a slash at the end. */
  readonly identityUrl: string
  readonly catalog: readonly CatalogEntry[]
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

/** A service that the configuration adds to the catalog. */
export interface CatalogService {
  readonly type: string
  readonly name: string
  readonly url: string
}

/** Middleware uses `internal`, command lines use `public`, and some administration tools use `admin`. */
const INTERFACES = ['public', 'internal', 'admin']

/** @param publicUrl URL of the server for clients */
export function siteOf(publicUrl: string, region: string, services: readonly CatalogService[]): Site {
  const identityUrl = `${publicUrl.replace(/\/+$/, '')}/identity`
  const identity = { type: 'identity', name: 'portcullis', url: `${identityUrl}/v3` }
  return { identityUrl, catalog: [identity, ...services].map((service) => entryOf(service, region)) }
}

function entryOf({ type, name, url }: CatalogService, region: string): CatalogEntry {
  return {
    id: idOf(type, name),
    type,
    name,
    endpoints: INTERFACES.map((interface_) => ({
      id: idOf(type, name, interface_, region),
      interface: interface_,
      region,
      region_id: region,
      url,
    })),
  }
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
