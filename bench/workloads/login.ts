/**
 * Logins of the demo's service user: over gRPC with our client, and over HTTP as Keystone's clients do it.
 */

import { connect } from '../../clients/typescript/index.ts'
import type { Scope } from '../../engine/index.ts'
import type { SidecarReady } from '../servers/start.ts'

export interface Login {
  /** Issues a token, for the demo account if no scope is given. Rejects if there is no token. */
  overGrpc(scope?: Scope): Promise<string>
  /** Issues a token for the demo account. Rejects if there is no token, or the sidecar serves no HTTP. */
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
    overGrpc: async (scope = { account }) => (await client.issue({ password, scope })).value,
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
