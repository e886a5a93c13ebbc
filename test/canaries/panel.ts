/**
 * The rows of the page that people log in to. The invitation is the last one that the rows of the contract
 * made.
 */
import { askAt } from '../support/identity/identity.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import type { Row } from './rows.ts'
import { CANARY, type Stage } from './stage.ts'

interface PanelRow {
  readonly what: string
  /** Below `/console/`. */
  readonly path: string
  readonly body: (stage: Stage) => object
  /** The name of the new secret in the cookie. */
  readonly makes?: string
  /** The name of the secret of the session that the request has. */
  readonly session?: string
}

const login = (password: string, user = 'owner') => ({ account: ACCOUNT, user, password })

const ROWS: readonly PanelRow[] = [
  { what: 'a wrong password', path: 'session/login', body: () => login(CANARY) },
  { what: 'a password as the user', path: 'session/login', body: () => login('x', CANARY) },
  {
    what: 'a password as the account',
    path: 'session/login',
    body: () => ({ ...login('x'), account: CANARY }),
  },
  { what: 'a secret as a field', path: 'session/login', body: () => ({ ...login('x'), [CANARY]: CANARY }) },
  {
    what: 'a password that is no text',
    path: 'session/login',
    body: () => ({ ...login('x'), password: [CANARY] }),
  },
  { what: 'a password that is too long', path: 'session/login', body: () => login(CANARY.repeat(100)) },
  { what: 'a link of no secret', path: 'session/link', body: () => ({ secret: CANARY }) },
  {
    what: 'a look at an invitation',
    path: 'session/invitation',
    body: ({ secrets }) => ({ secret: secrets.newInvitation }),
  },
  {
    what: 'an invitation as a link',
    path: 'session/link',
    body: ({ secrets }) => ({ secret: secrets.newInvitation }),
  },
  {
    what: 'a password that is refused',
    path: 'session/invitation/accept',
    body: ({ secrets }) => ({ secret: secrets.newInvitation, password: `${ACCOUNT} ${CANARY}` }),
  },
  {
    what: 'an invitation',
    path: 'session/invitation/accept',
    body: ({ secrets }) => ({ secret: secrets.newInvitation, password: secrets.panelPassword }),
    makes: 'session',
  },
  {
    what: 'a password',
    path: 'session/login',
    body: ({ secrets }) => login(secrets.panelPassword ?? ''),
    makes: 'session2',
  },
  { what: 'a wrong caller token', path: 'session/operator', body: () => ({ token: CANARY }) },
  {
    what: 'a caller token',
    path: 'session/operator',
    body: ({ secrets }) => ({ token: secrets.administratorToken }),
    makes: 'operatorSession',
  },
  {
    what: 'a wrong password of a session',
    path: 'session/confirm',
    body: () => ({ password: CANARY }),
    session: 'session',
  },
  {
    what: 'the password of a session',
    path: 'session/confirm',
    body: ({ secrets }) => ({ password: secrets.panelPassword }),
    session: 'session',
  },
  {
    what: 'a search for a token',
    path: 'operator/decisions/search',
    body: ({ secrets }) => ({ token: secrets.token, api: 'balance' }),
    session: 'operatorSession',
  },
  {
    what: 'a search for a static token with its header',
    path: 'operator/decisions/search',
    body: ({ secrets }) => ({ token: `X-Token: ${secrets.staticToken}` }),
    session: 'operatorSession',
  },
  ...['fingerprint', 'page_token', 'verdict', 'since_ms', CANARY].map(
    (field): PanelRow => ({
      what: `a search with a secret in ${field === CANARY ? 'an unknown field' : field}`,
      path: 'operator/decisions/search',
      body: () => ({ [field]: CANARY }),
      session: 'operatorSession',
    }),
  ),
  { what: 'the end of a session', path: 'session/end', body: () => ({}), session: 'session' },
]

async function ask({ path, body, makes, session }: PanelRow, stage: Stage): Promise<unknown> {
  const { http, secrets } = stage
  const port = Number(http.split(':').at(-1))
  const answer = await askAt(port, {
    ...{ method: 'POST', path: `/console/${path}`, body: body(stage) },
    headers: {
      ...{ 'x-portcullis-console': '1', origin: `http://${http}`, 'user-agent': 'a browser' },
      ...(session !== undefined && { cookie: `portcullis-${port}=${secrets[session]}` }),
    },
  })
  const [, made] = /portcullis-\d+=([^;]+);/.exec(String(answer.headers['set-cookie'])) ?? []
  if (makes !== undefined && made !== undefined) secrets[makes] = made
  return answer
}

export const PANEL_ROWS: readonly Row[] = ROWS.map((row) => ({
  what: `the page: ${row.what}`,
  ask: (stage) => ask(row, stage),
  ...(row.makes && { rightly: { secrets: [row.makes], because: 'the cookie is for the user who logs in' } }),
}))
