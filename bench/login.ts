/** Logins of the demo's service user: over gRPC as our clients do it, and over HTTP as Keystone's do. */
import { connect } from '../sidecar/client/index.ts'
import type { SidecarReady } from './server-process.ts'

export interface Login {
  /** The token. Rejects where there is none. */
  overGrpc(): Promise<string>
  /** The token. Rejects where there is none, or the sidecar serves no HTTP. */
  overHttp(): Promise<string>
  close(): void
}

export function loginOf({ grpc, http, demo }: SidecarReady): Login {
  const client = connect(grpc, { deadlineMs: 60_000 })
  const { account, service_user: user } = demo
  const password = { userName: user.name, account, password: user.password }
  const body = JSON.stringify({
    auth: {
      identity: {
        methods: ['password'],
        password: { user: { name: user.name, domain: { name: account }, password: user.password } },
      },
      scope: { domain: { name: account } },
    },
  })
  return {
    overGrpc: async () => (await client.issue({ password, scope: { account } })).value,
    overHttp: async () => {
      const response = await fetch(`http://${http}/identity/v3/auth/tokens`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      await response.arrayBuffer()
      const token = response.headers.get('x-subject-token')
      if (response.status !== 201 || token === null) throw new Error(`a login got status ${response.status}`)
      return token
    },
    close: () => client.close(),
  }
}
