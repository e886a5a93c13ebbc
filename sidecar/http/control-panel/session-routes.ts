/** Logging in, confirming and logging out: `/console/session`. */

import { expectCode } from '../../authority/control-panel/codes.ts'
import { invalidArgument } from '../../base/call-error.ts'
import { confirmSession, type Proof } from '../../usecases/control-panel/confirm-session.ts'
import {
  acceptInvitation,
  type Begun,
  logInAsOperator,
  logInByLink,
  logInByPassword,
  lookAtInvitation,
} from '../../usecases/control-panel/log-in.ts'
import {
  expectSession,
  type KnownSession,
  logOut,
  sessionOf,
  viewOf,
} from '../../usecases/control-panel/session.ts'
import type { Fields, PanelExchange, PanelRoutes } from './panel-exchange.ts'
import { readCredential } from './passkey-credentials.ts'

export const SESSION = '/console/session'

export function addSessionRoutes(routes: PanelRoutes): void {
  const { pages } = routes
  routes.get(SESSION, async (exchange) => {
    const known = await sessionOf(exchange.services, exchange.call)
    if (known !== undefined) return sessionJson(routes, exchange, known)
    return { signedIn: false, passkeys: pages.hasPasskeys(exchange.request.raw) }
  })
  const readLogin = (fields: Fields) => ({
    account: fields.text('account'),
    userName: fields.text('user'),
    password: fields.secret('password'),
    code: readCode(fields),
  })
  routes.post(`${SESSION}/login`, readLogin, async (exchange, login) =>
    sessionBegun(routes, exchange, await logInByPassword(exchange.services, exchange.call, login)),
  )
  const readSecret = (fields: Fields) => fields.text('secret')
  routes.post(`${SESSION}/link`, readSecret, async (exchange, secret) =>
    sessionBegun(routes, exchange, await logInByLink(exchange.services, exchange.call, secret)),
  )
  routes.post(`${SESSION}/invitation`, readSecret, ({ services, call }, secret) =>
    lookAtInvitation(services, call, secret),
  )
  const readAcceptance = (fields: Fields) => ({
    secret: fields.text('secret'),
    password: fields.secret('password'),
  })
  routes.post(`${SESSION}/invitation/accept`, readAcceptance, async (exchange, { secret, password }) => {
    const begun = await acceptInvitation(exchange.services, exchange.call, secret, password)
    return sessionBegun(routes, exchange, begun)
  })
  const readToken = (fields: Fields) => fields.secret('token')
  routes.post(
    `${SESSION}/operator`,
    readToken,
    async (exchange, token) =>
      sessionBegun(routes, exchange, await logInAsOperator(exchange.services, exchange.call, token)),
    (token) => token,
  )
  routes.post(`${SESSION}/confirm`, readProof, async (exchange, proof) => {
    const known = await expectSession(exchange.services, exchange.call)
    const session = await confirmSession(exchange.services, exchange.call, known.session, proof)
    return sessionJson(routes, exchange, { ...known, session })
  })
  routes.post(
    `${SESSION}/end`,
    () => undefined,
    async ({ services, call, reply }) => {
      await logOut(services, call)
      pages.clearCookie(reply)
      return undefined
    },
  )
}

/** The answer to a login, by any proof: the session, and the cookie that has it from now on. */
export async function sessionBegun(
  routes: PanelRoutes,
  exchange: PanelExchange,
  { secret, session }: Begun,
): Promise<object> {
  const { services, call, reply } = exchange
  const known = await expectSession(services, { ...call, session: session.hash })
  routes.pages.setCookie(reply, secret)
  return sessionJson(routes, exchange, known)
}

/** A session as the page sees it. */
function sessionJson(
  { pages }: PanelRoutes,
  { services, request }: PanelExchange,
  known: KnownSession,
): object {
  const { who, ...view } = viewOf(services, known)
  const rights = who.type === 'operator' && {
    rights: { ...who.rights, administer: [...who.rights.administer] },
  }
  return { signedIn: true, ...view, who: { ...who, ...rights }, passkeys: pages.hasPasskeys(request.raw) }
}

/** Looked at before the password, so that a malformed code reveals nothing of it. */
function readCode(fields: Fields): string | undefined {
  const code = fields.optionalText('code')
  if (code !== undefined) expectCode(code)
  return code
}

function readProof(fields: Fields): Proof {
  if (fields.has('token')) return { type: 'token', token: fields.secret('token') }
  if (fields.has('password'))
    return { type: 'password', password: fields.secret('password'), code: readCode(fields) }
  if (fields.has('passkey')) return { type: 'passkey', response: readCredential(fields.value('passkey')) }
  throw invalidArgument({ field: 'the body', expected: 'password, passkey or token' })
}
