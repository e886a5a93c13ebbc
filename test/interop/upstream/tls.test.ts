/**
 * TLS to an upstream: verified against the configured authority or the ones that Node trusts, whatever the
 * environment says.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { expect, test } from 'vitest'
import { FakeUpstream } from '../../support/identity/upstream.ts'
import { makeAuthority, makeCertificate } from '../../support/interop/certificates.ts'
import { startCloudBefore } from '../../support/interop/interop-upstream.ts'
import { newFolder } from '../../support/suite/resources.ts'

const folder = newFolder()
const authority = await makeAuthority(folder, 'authority')
const stranger = await makeAuthority(folder, 'stranger')
const robot = { account: '123456', user: 'robot', password: 'canary-robot' }
const validator = { account: '123456', user: 'validator', password: 'canary-validator' }

/** An upstream that shows a certificate for these names. */
async function upstreamFor(
  name: string,
  names?: readonly string[],
  options: object = {},
): Promise<FakeUpstream> {
  const { certificate, key } = await makeCertificate(folder, name, authority, names)
  const users = [robot, validator].map(({ account, user, password }) => ({
    ...{ account, name: user, password, roles: { '': ['member'] }, validator: true },
  }))
  const serve = (listener: Parameters<typeof createServer>[1]) =>
    createServer({ cert: readFileSync(certificate), key: readFileSync(key), ...options }, listener)
  return FakeUpstream.start(users, serve as never, 'https')
}

const genuine = await upstreamFor('genuine')

async function refusalOf(upstream: FakeUpstream, ca?: string): Promise<string> {
  const { client, running } = await startCloudBefore(
    upstream.url,
    { robot, validator },
    ca === undefined ? {} : { ca },
  )
  const error: Error & { reason?: string } = await client
    .issue({ profile: 'robot', scope: { account: '123456' } })
    .then(
      () => new Error('it was issued'),
      (thrown) => thrown,
    )
  expect(error.reason).toBe('UPSTREAM_UNAVAILABLE')
  await running.sidecar.close()
  return error.message
}

test('an endpoint of the configured authority is trusted', async () => {
  const { client } = await startCloudBefore(genuine.url, { robot, validator }, { ca: authority.certificate })
  const { value } = await client.issue({ profile: 'robot', scope: { account: '123456' } })
  expect(await client.check({ api: 'iam', credentials: { 'X-Auth-Token': value } })).toMatchObject({
    allowed: true,
  })
})

test.each([
  ['of an authority that Node does not trust', () => refusalOf(genuine)],
  ['of another authority than the configured one', () => refusalOf(genuine, stranger.certificate)],
  [
    'with a certificate for another name',
    async () => refusalOf(await upstreamFor('elsewhere', ['DNS:identity.example']), authority.certificate),
  ],
  [
    'that speaks TLS 1.1 alone',
    async () =>
      refusalOf(
        await upstreamFor('old', undefined, {
          minVersion: 'TLSv1.1',
          maxVersion: 'TLSv1.1',
          ciphers: 'ALL:@SECLEVEL=0',
        }),
        authority.certificate,
      ),
  ],
])('an endpoint %s is not, even where the environment switches verification off', async (_claim, refused) => {
  const seen = genuine.seen.length
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  try {
    expect(await refused()).toMatch(/cannot be trusted: TLS failed with [A-Z0-9_]+$/)
  } finally {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
  }
  // No password was sent.
  expect(genuine.seen.length).toBe(seen)
})
