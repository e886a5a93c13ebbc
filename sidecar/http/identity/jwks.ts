/**
 * The public keys of IAM tokens as a JSON Web Key Set (RFC 7517, RFC 8037), for gateways that verify tokens
 * offline. They are the keys that the sidecar itself accepts. The staged one is among them, so that gateways
 * know it before it signs.
 */
import { hash } from 'node:crypto'
import type { Authority } from '../../authority/authority.ts'
import type { PublicKey } from '../../authority/keys.ts'
import type { HttpRoutes } from '../../base/http/http-routes.ts'
import { sendIfChanged } from '../etag.ts'

/**
 * How long caches may keep the keys. The time for which a gateway may accept a withdrawn key, or not know one
 * that was just staged.
 */
const MAX_AGE_SECONDS = 60

/** A cache that cannot ask again may not answer from what it has: a key may have been withdrawn. */
const CACHE_CONTROL = `public, max-age=${MAX_AGE_SECONDS}, must-revalidate`

/** Needs no credential: the keys verify tokens, and make none. */
export function addJwksRoute(
  routes: HttpRoutes,
  { authority }: { readonly authority: Authority },
  path: string,
): void {
  // This route answers HEAD too, without a body.
  routes.get(path, ({ headers }, reply) => {
    const body = Buffer.from(JSON.stringify({ keys: authority.publicKeys().map(jwkOf) }))
    // Unlike other responses of this server, this one does not depend on a token.
    reply
      .removeHeader('vary')
      .headers({ 'cache-control': CACHE_CONTROL, 'content-type': 'application/jwk-set+json' })
    return sendIfChanged(reply, body, hash('sha256', body, 'base64url'), headers['if-none-match'])
  })
}

function jwkOf({ keyId, publicKey }: PublicKey): object {
  const { kty, crv, x } = publicKey.export({ format: 'jwk' })
  return { kty, crv, x, kid: keyId, alg: 'EdDSA', use: 'sig' }
}
