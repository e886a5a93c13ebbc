/** Logging in with a passkey: `/console/session/passkey`. */
import { logInByPasskey, passkeyChallenge } from '../../usecases/control-panel/log-in.ts'
import type { Fields, PanelRoutes } from './panel-exchange.ts'
import { readCredential } from './passkey-credentials.ts'
import { SESSION, sessionBegun } from './session-routes.ts'

export function addPasskeyRoutes(routes: PanelRoutes): void {
  routes.post(
    `${SESSION}/passkey/challenge`,
    () => undefined,
    async ({ services, call }) => ({ options: await passkeyChallenge(services, call) }),
  )
  const readResponse = (fields: Fields) => readCredential(fields.value('response'))
  routes.post(`${SESSION}/passkey`, readResponse, async (exchange, response) =>
    sessionBegun(routes, exchange, await logInByPasskey(exchange.services, exchange.call, response)),
  )
}
