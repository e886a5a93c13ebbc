/**
 * gophercloud, unmodified: logs in, validates, revokes, and logs in again when its own token is no longer
 * active.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import {
  buildGophercloud,
  downloadGophercloud,
  drive,
  type IdentitySidecar,
  type Login,
  obtained,
  type Scheme,
  startIdentitySidecar,
} from '../../support/interop/interop-identity.ts'
import { ownAddress } from '../../support/interop/own-address.ts'
import { newFolder } from '../../support/suite/resources.ts'

const modules = await obtained('gophercloud', downloadGophercloud)

const DAY_SECONDS = 24 * 60 * 60

/** Over https it reaches the sidecar on an address of the network. */
const schemes: Scheme[] = inject('openssl').ok && ownAddress !== undefined ? ['http', 'https'] : ['http']

describe.skipIf(!modules.ok).each(schemes)('gophercloud, over %s', (scheme) => {
  const folder = newFolder()
  let sidecar: IdentitySidecar
  let client: string
  beforeAll(async () => {
    client = await buildGophercloud(folder)
    sidecar = await startIdentitySidecar(scheme, { compatibility: { application_credentials: true } })
  })
  afterAll(async () => {
    await sidecar?.stop()
  })
  const driven = (login: Login, project: string, slash = '') =>
    drive(
      [client],
      { auth_url: `${sidecar.identityUrl}${slash}`, ...login, project },
      sidecar.authority === undefined ? {} : { SSL_CERT_FILE: sidecar.authority },
    ) as Promise<Record<string, unknown>>

  test.each([
    ['account', '/v3'],
    ['account', ''],
    ['project', '/v3/'],
    ['project', '/'],
  ])('with %s scope at /identity%s', async (scope, slash) => {
    const { user, project, identityUrl } = sidecar
    const { lifetime, ...came } = await driven(user, scope === 'project' ? project : '', slash)
    expect(came).toEqual({
      catalog_url: `${identityUrl}/v3/`,
      user: user.user,
      account: user.account,
      ...(scope === 'project' && { project }),
      valid_before: true,
      valid_after: false,
      garbage: 404,
      renewed: true,
    })
    expect(lifetime).toBeGreaterThan(DAY_SECONDS - 120)
    expect(lifetime).toBeLessThanOrEqual(DAY_SECONDS)
  })

  test('makes an application credential, logs in with it, and deletes it', async () => {
    const { user, project, identityUrl } = sidecar
    const used = await drive(
      [client],
      { auth_url: `${identityUrl}/v3`, ...user, project, credential: true },
      sidecar.authority === undefined ? {} : { SSL_CERT_FILE: sidecar.authority },
    )
    expect(used).toEqual({
      ...{ project, unrestricted: false, same_expiry: true, listed: 1, more: 403, after: 401 },
    })
  })

  test.each<[claim: string, who: () => Login, project: string]>([
    ['a wrong password', () => ({ ...sidecar.user, password: 'wrong' }), ''],
    ['a missing permission (§5.1)', () => sidecar.nobody, ''],
  ])('%s: 401', async (_claim, who, project) => {
    expect(await driven(who(), project)).toMatchObject({ refused: 401 })
  })
})
