/**
 * A foreign identity endpoint, in the driver: it is asked a few times before the measurement, and
 * then no longer.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface IdentityEndpoint {
  /** `{auth_url}`. */
  readonly url: string
  /** How many requests there were so far. */
  readonly requests: () => number
  readonly close: () => void
}

/** As long as a Fernet token of Keystone. */
const TOKEN_LENGTH = 230

/** The scope that a token says of itself. */
interface Scope {
  readonly account: string
  readonly project?: string | undefined
}

/** Starts an endpoint that grants every request, and verifies every token that it gave. */
export async function startIdentityEndpoint(): Promise<IdentityEndpoint> {
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const asked = request.headers['x-subject-token']
      const scope = typeof asked === 'string' ? scopeOf(asked) : scopeIn(Buffer.concat(chunks).toString())
      const token = typeof asked === 'string' ? asked : tokenFor(scope)
      response.writeHead(typeof asked === 'string' ? 200 : 201, { 'x-subject-token': token })
      response.end(JSON.stringify(describe(scope)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests: () => requests,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** A token that this endpoint verifies. */
export function tokenFor(scope: Scope): string {
  return `gAAAAA${Buffer.from(JSON.stringify(scope)).toString('base64url')}.`.padEnd(TOKEN_LENGTH, 'x')
}

function scopeOf(token: string): Scope {
  const text = token.slice('gAAAAA'.length, token.indexOf('.'))
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as Scope
}

/** The scope that a login asks for (§2.2). */
function scopeIn(body: string): Scope {
  const { domain, project } = JSON.parse(body).auth.scope
  return project === undefined
    ? { account: domain.name }
    : { account: project.domain.name, project: project.name }
}

function describe({ account, project }: Scope): object {
  const domain = { id: '0123456789abcdef0123456789abcdef', name: account }
  return {
    token: {
      methods: ['password'],
      user: { id: 'fedcba9876543210fedcba9876543210', name: 'robot', domain },
      audit_ids: ['0123456789abcdefghijkl'],
      issued_at: new Date().toISOString(),
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
      roles: [{ id: '00112233445566778899aabbccddeeff', name: 'member' }],
      ...(project === undefined
        ? { domain }
        : { project: { id: 'aabbccddeeff00112233445566778899', name: project, domain }, is_domain: false }),
    },
  }
}
