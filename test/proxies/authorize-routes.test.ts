/** `GET /authorize` finds the API of a request as every other protocol does, in the words of each proxy. */
import { startIdentity } from '../support/identity/identity.ts'
import { holdsToRoutes, ROUTES, type RoutedRow } from '../support/inputs/paths.ts'
import { httpBehindProxy, PROXY_SECRET } from '../support/proxies/proxied.ts'
import { newFile } from '../support/suite/resources.ts'

const config = newFile(
  JSON.stringify({ http: httpBehindProxy({ authorize: true }), routes: ROUTES }),
  'config.json',
)
const { ask } = await startIdentity({ config })

/**
 * Node's client sends no line breaks and no letters beyond one byte, and blanks at the end do not belong to a
 * header. X-Original-URL describes the request here; `authorize.test.ts` shows the outcome of two
 * descriptions.
 */
const canBeSent = ({ method, host, target, headers }: RoutedRow) =>
  !('x-original-url' in headers) &&
  [method, host, target].every((text) => /^[\x21-\xff](?:[\x20-\xff]*[\x21-\xff])?$/.test(text)) &&
  Object.values(headers)
    .flat()
    .every((text) => /^[\x20-\xff]*$/.test(text) && text === text.trim())

for (const [proxy, ...names] of [
  ['nginx', 'x-original-method', 'x-original-uri'],
  ['Caddy and Traefik', 'x-forwarded-method', 'x-forwarded-uri'],
] as const)
  holdsToRoutes(
    `GET /authorize of ${proxy}`,
    async ({ method, host, target, headers }) => {
      const [methodName, uriName] = names
      const described = { [methodName]: method, [uriName]: target, 'x-forwarded-host': host }
      const { json } = await ask({
        path: '/authorize',
        headers: { 'x-portcullis-proxy-secret': PROXY_SECRET, ...described, ...headers },
      })
      const { reason, message } = json.error
      if (reason !== 'CREDENTIAL_MISSING') return { refused: reason }
      return { api: /`([a-z0-9-]+)` accepts/.exec(message)?.[1] ?? message }
    },
    canBeSent,
  )
