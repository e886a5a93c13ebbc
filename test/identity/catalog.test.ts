/** The catalog: regions, interfaces and templates of its endpoints, and what is refused at the start. */
import { describe, expect, test } from 'vitest'
import { idsOf, loginBody, startIdentity, TOKENS } from '../support/identity/identity.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const STORAGE = 'https://storage.example.com/v1/AUTH_'
const COMPUTE = 'https://compute.example.com/v2.1'

const config = newFile(
  `
http:
  region: moon
  catalog:
    - { type: image, name: glance, url: "https://image.example.com" }
    - { type: object-store, name: swift, url: "${STORAGE}%(project_id)s", region: mars, interfaces: [public] }
    - type: compute
      name: nova
      endpoints:
        - { url: "${COMPUTE}/$(project_id)s", region: moon }
        - { url: "${COMPUTE}", region: mars, interfaces: [public, internal] }
        - { url: "${COMPUTE}/admin/%(user_id)s/%(tenant_id)s", region: mars, interfaces: [admin] }
`,
  'config.yaml',
)
const sidecar = await startIdentity({ config })
const ids = await idsOf(sidecar)

type Entry = {
  type: string
  endpoints: { id: string; region: string; region_id: string; interface: string; url: string }[]
}

async function catalogFor(project?: string): Promise<Record<string, string[]>> {
  const { ask, passwordOf } = sidecar
  const body = loginBody({ password: passwordOf('account'), ...(project !== undefined && { project }) })
  const { json, headers } = await ask({ method: 'POST', path: TOKENS, body })
  const token = { 'x-auth-token': headers['x-subject-token'] ?? '' }
  const listed = await ask({ path: '/identity/v3/auth/catalog', headers: token })
  expect(listed.json.catalog).toEqual(json.token.catalog)
  const entries = json.token.catalog as Entry[]
  const endpoints = entries.flatMap((entry) => entry.endpoints)
  expect(new Set(endpoints.map(({ id }) => id)).size).toBe(endpoints.length)
  for (const endpoint of endpoints) expect(endpoint.region_id).toBe(endpoint.region)
  return Object.fromEntries(
    entries.map((entry) => [
      entry.type,
      entry.endpoints.map((endpoint) => `${endpoint.region} ${endpoint.interface} ${endpoint.url}`),
    ]),
  )
}

const everywhere = (region: string, url: string) =>
  ['public', 'internal', 'admin'].map((name) => `${region} ${name} ${url}`)

const OWN = `http://127.0.0.1:${sidecar.port}/identity/v3`

test('a project-scoped token has every endpoint, with its project in the templates', async () => {
  expect(await catalogFor('alpha')).toEqual({
    // In every region that an endpoint names, because clients look for it in theirs.
    identity: [...everywhere('moon', OWN), ...everywhere('mars', OWN)],
    image: everywhere('moon', 'https://image.example.com'),
    'object-store': [`mars public ${STORAGE}${ids.project}`],
    compute: [
      ...everywhere('moon', `${COMPUTE}/${ids.project}`),
      `mars public ${COMPUTE}`,
      `mars internal ${COMPUTE}`,
      `mars admin ${COMPUTE}/admin/${ids.user}/${ids.project}`,
    ],
  })
})

test('an account-scoped token has no endpoint with a project in it, as in Keystone', async () => {
  expect(await catalogFor()).toEqual({
    identity: [...everywhere('moon', OWN), ...everywhere('mars', OWN)],
    image: everywhere('moon', 'https://image.example.com'),
    compute: [`mars public ${COMPUTE}`, `mars internal ${COMPUTE}`],
  })
})

describe('at the start it is refused, with its key', () => {
  const A = '{ type: a, name: a, url: "https://a" }'
  test.each<[catalog: string, message: string]>([
    [
      `[${A}, { type: b, name: b, url: "https://b" }, ${A}]`,
      'http.catalog[2]: expected another type or name than http.catalog[0]',
    ],
    [
      '[{ type: identity, name: portcullis, url: "https://a" }]',
      'http.catalog[0]: expected another type or name than the identity service',
    ],
    [
      '[{ type: a, name: a }]',
      'http.catalog[0].url: expected the URL of the service, or a list of endpoints',
    ],
    [
      '[{ type: a, name: a, url: "https://a", endpoints: [{ url: "https://a" }] }]',
      'http.catalog[0].url: expected no URL beside endpoints',
    ],
    [
      '[{ type: a, name: a, region: x, endpoints: [{ url: "https://a" }] }]',
      'http.catalog[0]: expected region and interfaces in each of the endpoints',
    ],
    ['[{ type: a, name: a, endpoints: [] }]', 'http.catalog[0].endpoints'],
    [
      '[{ type: a, name: a, endpoints: [{ url: "https://a" }, { url: "https://b", interfaces: [public] }] }]',
      'http.catalog[0].endpoints[1]: expected another region or interface than http.catalog[0].endpoints[0]; both are public in RegionOne',
    ],
    ['[{ type: a, name: a, url: "https://a", interfaces: [public, public] }]', 'http.catalog[0].interfaces'],
    ['[{ type: a, name: a, url: "https://a", interfaces: [private] }]', 'http.catalog[0].interfaces[0]'],
    [
      '[{ type: a, name: a, url: "https://a/%(project)s" }]',
      'http.catalog[0].url: expected no template but %(project_id)s, %(tenant_id)s, %(user_id)s',
    ],
    [
      '[{ type: a, name: a, endpoints: [{ url: "https://a/$(project_id)" }] }]',
      'http.catalog[0].endpoints[0].url: expected no template but',
    ],
    ['[{ type: a, name: a, url: "ftp://a" }]', 'http.catalog[0].url'],
  ])('%s', async (catalog, message) => {
    const file = newFile(`http:\n  catalog: ${catalog}\n`, 'config.yaml')
    await expect(runSidecar({ config: file, flags: { 'http.address': '127.0.0.1:0' } })).rejects.toThrow(
      message,
    )
  })
})
