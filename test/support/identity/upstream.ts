/**
 * An identity endpoint as an upstream sees one: a small Keystone in this process. A test can make it
 * misbehave on the wire.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { whenTheFileEnds } from '../suite/resources.ts'

/** A user of the upstream, and where they have a role. */
export interface UpstreamUser {
  readonly account: string
  readonly name: string
  password: string
  /** `''` for the account, else a project. */
  readonly roles: Readonly<Record<string, readonly string[]>>
  /** Whether they may ask about tokens of others. */
  readonly validator?: boolean
}

/** An application credential of a user. */
export interface UpstreamCredential {
  readonly id: string
  readonly name: string
  readonly user: string
  readonly project: string
  secret: string
}

interface StoredToken {
  readonly user: UpstreamUser
  readonly project: string | undefined
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}

/** An answer before it is sent, for tests that change it. */
export interface PlannedAnswer {
  status: number
  headers: Record<string, string | string[]>
  body: string
}

type Method = 'POST' | 'GET' | 'DELETE'

export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export class FakeUpstream {
  readonly users: UpstreamUser[]
  readonly credentials: UpstreamCredential[] = []
  /** Every request so far. */
  readonly seen: SeenRequest[] = []
  /** Lifetime of new tokens, in milliseconds. */
  lifetimeMs = 86_400_000
  /** Wall clock of the upstream. */
  now: () => number = Date.now
  /** Changes an answer before it is sent. */
  change: ((answer: PlannedAnswer, request: SeenRequest) => void) | undefined
  /** Takes the response over. Returns whether it did. */
  takeOver: ((response: ServerResponse, request: SeenRequest) => boolean) | undefined
  /** The promise that every answer waits for. */
  gate: Promise<unknown> | undefined
  readonly #tokens = new Map<string, StoredToken>()
  readonly #sockets = new Set<Socket>()
  #issued = 0
  #url = ''
  #stop: () => Promise<void> = () => Promise.resolve()

  private constructor(users: UpstreamUser[]) {
    this.users = users
  }

  /** @param serve makes the server; default: plain HTTP */
  static async start(
    users: UpstreamUser[],
    serve: (listener: RequestListener) => ReturnType<typeof createServer> = createServer,
    scheme = 'http',
  ): Promise<FakeUpstream> {
    const upstream = new FakeUpstream(users)
    const server = serve((request, response) => void upstream.#answer(request, response))
    server.on('connection', (socket: Socket) => {
      upstream.#sockets.add(socket)
      socket.on('close', () => upstream.#sockets.delete(socket))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    upstream.#url = `${scheme}://127.0.0.1:${port}`
    upstream.#stop = () =>
      new Promise((resolve) => {
        for (const socket of upstream.#sockets) socket.destroy()
        server.close(() => resolve())
      })
    whenTheFileEnds(() => upstream.stop())
    return upstream
  }

  /** `{auth_url}`. */
  get url(): string {
    return this.#url
  }

  /** How many requests of a method there were. */
  count(method: Method): number {
    return this.seen.filter((request) => request.method === method).length
  }

  stop(): Promise<void> {
    return this.#stop()
  }

  /** Makes a token, as another client that logged in has one. */
  issue(name: string, project?: string): string {
    const user = this.users.find((each) => each.name === name)
    if (user === undefined) throw new Error(`no user ${name}`)
    return this.#newToken(user, project)
  }

  /** Ends a token. */
  end(value: string): void {
    this.#tokens.delete(value)
  }

  /** Ends all tokens of a user. */
  endAll(name: string): void {
    for (const [value, { user }] of this.#tokens) if (user.name === name) this.#tokens.delete(value)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const seen: SeenRequest = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    }
    this.seen.push(seen)
    await this.gate
    if (this.takeOver?.(response, seen)) return
    const answer = this.#plan(seen)
    this.change?.(answer, seen)
    response.writeHead(answer.status, answer.headers)
    response.end(answer.body)
  }

  #plan(request: SeenRequest): PlannedAnswer {
    if (!/^\/identity\/v3\/auth\/tokens(\?|$)/.test(request.url)) return refusal(404)
    if (request.method === 'POST') return this.#logIn(request.body)
    const requester = this.#active(request.headers['x-auth-token'])
    if (requester === undefined) return refusal(401)
    const value = String(request.headers['x-subject-token'])
    const subject = this.#active(value)
    if (subject === undefined) return refusal(404)
    if (subject.user !== requester.user && requester.user.validator !== true) return refusal(403)
    if (request.method === 'DELETE') {
      this.#tokens.delete(value)
      return { status: 204, headers: {}, body: '' }
    }
    return described(200, value, subject, request.url.includes('nocatalog'))
  }

  #logIn(body: string): PlannedAnswer {
    const { auth } = JSON.parse(body)
    if (auth.identity.methods[0] === 'application_credential') return this.#logInByCredential(auth)
    const { name, domain, password } = auth.identity.password.user
    const user = this.users.find((each) => each.account === domain.name && each.name === name)
    const project: string | undefined = auth.scope.project?.name
    const account = auth.scope.project?.domain.name ?? auth.scope.domain.name
    const hasRole = account === user?.account && user?.roles[project ?? ''] !== undefined
    if (user?.password !== password || user === undefined || !hasRole) return refusal(401)
    const value = this.#newToken(user, project)
    return described(201, value, this.#tokens.get(value) as StoredToken, false)
  }

  /** As Keystone does: such a login has no scope. */
  #logInByCredential({
    identity,
    scope,
  }: {
    identity: Record<string, never>
    scope?: unknown
  }): PlannedAnswer {
    const { id, name, secret, user } = identity.application_credential as unknown as Record<string, unknown>
    const { name: userName } = (user ?? {}) as { name?: string }
    const credential = this.credentials.find((each) =>
      id === undefined ? each.name === name && each.user === userName : each.id === id,
    )
    const holder = this.users.find((each) => each.name === credential?.user)
    if (scope !== undefined || holder === undefined || credential?.secret !== secret) return refusal(401)
    const value = this.#newToken(holder, credential?.project)
    return described(201, value, this.#tokens.get(value) as StoredToken, false)
  }

  #newToken(user: UpstreamUser, project: string | undefined): string {
    const value = `gAAAAA${String(++this.#issued).padStart(6, '0')}-${user.name}-secret-text`
    const issuedAtMs = this.now()
    this.#tokens.set(value, { user, project, issuedAtMs, expiresAtMs: issuedAtMs + this.lifetimeMs })
    return value
  }

  #active(value: string | string[] | undefined): StoredToken | undefined {
    const token = this.#tokens.get(String(value))
    return token !== undefined && this.now() < token.expiresAtMs ? token : undefined
  }
}

function described(
  status: number,
  value: string,
  { user, project, issuedAtMs, expiresAtMs }: StoredToken,
  nocatalog: boolean,
): PlannedAnswer {
  const domain = { id: `id-of-${user.account}`, name: user.account }
  const scope =
    project === undefined
      ? { domain }
      : { project: { id: `id-of-${project}`, name: project, domain }, is_domain: false }
  const token = {
    methods: ['password'],
    user: { id: `id-of-${user.name}`, name: user.name, domain, password_expires_at: null },
    // It says nothing about the token.
    audit_ids: [createHash('sha256').update(`audit id of ${value}`).digest('base64url').slice(0, 22)],
    issued_at: new Date(issuedAtMs).toISOString(),
    expires_at: new Date(expiresAtMs).toISOString(),
    roles: (user.roles[project ?? ''] ?? []).map((name) => ({ id: `id-of-${name}`, name })),
    ...(!nocatalog && { catalog: [{ type: 'identity', name: 'keystone', id: 'c', endpoints: [] }] }),
    ...scope,
  }
  return {
    status,
    headers: { 'content-type': 'application/json', 'x-subject-token': value, vary: 'X-Auth-Token' },
    body: JSON.stringify({ token }),
  }
}

function refusal(status: number): PlannedAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ error: { code: status, message: 'no', title: 'No' } }),
  }
}

/** Changes an answer before it is sent. */
export type Change = (answer: PlannedAnswer) => void

/** An answer with these parts instead of its original ones. */
export const answering =
  (fields: Partial<PlannedAnswer>): Change =>
  (answer) => {
    Object.assign(answer, fields)
  }

/** The header that carries the token. `undefined`: there is none. */
export const withHeader =
  (value: string | string[] | undefined): Change =>
  (answer) => {
    const { 'x-subject-token': _own, ...others } = answer.headers
    answer.headers = { ...others, ...(value !== undefined && { 'x-subject-token': value }) }
  }

/** Other fields of the token that the body describes. `undefined`: the field is missing. */
export const describing =
  (fields: Readonly<Record<string, unknown>>): Change =>
  (answer) => {
    const { token } = JSON.parse(answer.body)
    answer.body = JSON.stringify({ token: { ...token, ...fields } })
  }
