/**
 * A database on another machine is not asked in plaintext, unless the URL says so. No server is needed to see
 * that.
 */
import { expect, test } from 'vitest'
import { Secret } from '../../sidecar/base/secret.ts'
import { openPostgres } from '../../sidecar/directory/postgres.ts'

const REFUSED =
  'directory.url: expected sslmode in the URL, because the database is on another machine: sslmode=verify-full, or sslmode=disable to send passwords in plaintext'

/**
 * Nothing listens on port 1, and a name below `.invalid` does not exist, so no attempt gets further than to
 * connect.
 */
const open = (url: string) => openPostgres({ url: new Secret(url), poolSize: 1, timeoutMs: 60_000 })

test.each([
  'postgres://u:secret-canary@db.invalid:1/d',
  'postgres://u:secret-canary@[2001:db8::1]:1/d',
  'postgres://u:secret-canary@127.0.0.1:1/d?host=db.invalid',
  'postgres://u:secret-canary@db.invalid:1/d?application_name=sslmode=disabled',
])('refused: %s', async (url) => {
  await expect(open(url)).rejects.toThrow(new Error(REFUSED))
})

test.each([
  'postgres://u:secret-canary@127.0.0.1:1/d',
  'postgres://u:secret-canary@localhost:1/d',
  'postgres://u:secret-canary@[::1]:1/d',
  'postgres://u:secret-canary@/d?host=/nowhere',
  'postgres://u:secret-canary@db.invalid:1/d?sslmode=verify-full',
  'postgres://u:secret-canary@db.invalid:1/d?sslmode=disable',
])('tried: %s', async (url) => {
  const error = await open(url).catch((error: Error) => error)
  expect(error).toBeInstanceOf(Error)
  expect((error as Error).message).toMatch(/^directory\.url: expected a directory that can be opened /)
  expect((error as Error).message).not.toContain('secret-canary')
})
