/** A sidecar with its identity endpoint, and how a test talks to that over HTTP. */
import { request } from 'node:http'
import type { DirectoryFile } from '../../../sidecar/index.ts'
import { TESTER } from '../sidecar/actor.ts'
import {
  ACCOUNT,
  OTHER_ACCOUNT,
  populate,
  type RunningSidecar,
  runSidecar,
  SERVICE_USERS,
  type Secrets,
  type SidecarOptions,
} from '../sidecar/sidecar.ts'

/** The names say what a person may do. */
const PEOPLE: DirectoryFile = {
  accounts: [
    {
      account: ACCOUNT,
      projects: ['alpha', 'beta'],
      service_users: [
        ...SERVICE_USERS,
        { name: 'administrator', permissions: [{ scope: 'account' }], roles: ['iam.admin'] },
        { name: 'колобок 🥐', permissions: [{ scope: 'account' }] },
        { name: 'half \ufffd', permissions: [{ scope: 'account' }] },
      ],
      control_panel_users: [
        { name: 'owner', owner: true, static_tokens: ['key'] },
        { name: 'panel', roles: [] },
        { name: 'panel administrator', roles: ['iam.admin'] },
      ],
    },
    {
      account: OTHER_ACCOUNT,
      projects: ['alpha'],
      service_users: [
        { name: 'stranger', permissions: [{ scope: 'account' }] },
        { name: 'administrator', permissions: [{ scope: 'account' }], roles: ['iam.admin'] },
      ],
    },
  ],
}

export { ACCOUNT, OTHER_ACCOUNT }

/** A header that is sent several times has several values. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[]>>

export interface Request {
  readonly method?: string
  readonly path?: string
  readonly headers?: RequestHeaders
  /** Text is sent as it is, an object as JSON. */
  readonly body?: string | Buffer | object
}

export interface Response {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  /** `undefined` where the body is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: any JSON may arrive; every test says what it expects of it
  readonly json: any
}

export interface IdentitySidecar extends Secrets {
  readonly running: RunningSidecar
  readonly port: number
  ask(request: Request): Promise<Response>
  /** The token that a login gives. */
  tokenFor(login: LoginWish): Promise<string>
}

export const TOKENS = '/identity/v3/auth/tokens'

/**
 * Starts a sidecar with its people. Logins are not throttled unless that is asked for.
 *
 * @param directory whether the data folder has the people already; the passwords are then unknown
 */
export async function startIdentity(
  { flags, ...options }: SidecarOptions = {},
  directory: 'new' | 'as it is' = 'new',
): Promise<IdentitySidecar> {
  const running = await runSidecar({
    ...options,
    flags: { 'http.address': '127.0.0.1:0', ...flags },
  })
  const secrets = directory === 'new' ? await populate(running, PEOPLE) : NO_SECRETS
  const port = Number(running.sidecar.httpAddress?.split(':').at(-1))
  const ask = (wish: Request) => askAt(port, wish)
  return {
    running,
    port,
    ...secrets,
    ask,
    tokenFor: async (login) => {
      const { user = 'account', account = ACCOUNT } = login
      const body = loginBody({ ...login, password: login.password ?? secrets.passwordOf(user, account) })
      const { headers, status, text } = await ask({ method: 'POST', path: TOKENS, body })
      const token = headers['x-subject-token']
      if (status !== 201 || token === undefined) throw new Error(`no token: ${status} ${text}`)
      return token
    },
  }
}

const NO_SECRETS: Secrets = {
  passwordOf: () => {
    throw new Error('the people were there already, so their passwords are unknown')
  },
  staticToken: '',
}

/** Sends one request on a separate connection. */
export function askAt(
  port: number,
  { method = 'GET', path = '/', headers = {}, body }: Request,
): Promise<Response> {
  const sent = typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body
  const type = sent === undefined || 'content-type' in headers ? {} : { 'content-type': 'application/json' }
  // Node's client frames the body of some methods only.
  const length =
    sent === undefined || 'transfer-encoding' in headers ? {} : { 'content-length': Buffer.byteLength(sent) }
  return new Promise((resolve, reject) => {
    const asking = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        agent: false,
        headers: { ...type, ...length, ...(headers as object) },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Record<string, string>,
            text,
            json: jsonIn(text, response.headers['content-type']),
          })
        })
      },
    )
    asking.on('error', reject)
    asking.end(sent)
  })
}

/** The value in a body, unless it is empty or a text. */
export function jsonIn(body: string, contentType: unknown): unknown {
  return body === '' || String(contentType).startsWith('text/') ? undefined : JSON.parse(body)
}

export interface LoginWish {
  readonly user?: string
  readonly account?: string
  readonly password?: string
  /** Absent: account scope. */
  readonly project?: string
}

/** The JSON of §2.2. */
export function loginBody({ user = 'account', account = ACCOUNT, password = '', project }: LoginWish) {
  const domain = { name: account }
  return {
    auth: {
      identity: {
        methods: ['password'] as unknown,
        password: { user: { name: user, domain, password } as object },
      },
      scope: (project === undefined ? { domain } : { project: { name: project, domain } }) as object,
    },
  }
}

/** The JSON of Keystone's method `token`: a token in place of a password. Absent scope: none. */
export function rescopeBody(
  token: string,
  scope?: { readonly project?: string } | 'unscoped',
  account = ACCOUNT,
) {
  const domain = { name: account }
  const named = (project: string | undefined) =>
    project === undefined ? { domain } : { project: { name: project, domain } }
  return {
    auth: {
      identity: { methods: ['token'], token: { id: token } },
      ...(scope !== undefined && { scope: scope === 'unscoped' ? scope : named(scope.project) }),
    },
  }
}

/** The body with another value at a path; `undefined` takes the field away. */
export function changed(body: object, path: string, value: unknown): object {
  const copy = structuredClone(body) as Record<string, unknown>
  const keys = path.split('.')
  const last = keys.pop() ?? ''
  let parent = copy
  for (const key of keys) parent = parent[key] as Record<string, unknown>
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return copy
}

/** Headers that ask about a token with a token. */
export function about(subject: string, requester = subject): RequestHeaders {
  return { 'x-auth-token': requester, 'x-subject-token': subject }
}

/** The fields that Keystone's clients read in every error. */
export function errorOf(code: number, title: string, message: unknown = expectAnything): object {
  return { error: { code, title, message } }
}

const expectAnything: unknown = {
  asymmetricMatch: (value: unknown) => typeof value === 'string' && value !== '',
  toString: () => 'a text',
}

/** A sidecar's own view of ids, for requests by id. */
export async function idsOf({ running }: IdentitySidecar, user = 'account', project = 'alpha') {
  const { run } = running.sidecar
  return {
    user: (await run(TESTER, 'getServiceUser', { account: ACCOUNT, name: user })).id,
    account: (await run(TESTER, 'getAccount', { account: ACCOUNT })).id,
    project: (await run(TESTER, 'getProject', { account: ACCOUNT, name: project })).id,
  }
}
