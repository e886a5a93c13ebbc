/** Verifying with the sidecar: the JSON of `Check` in the contract, and its answer. */

/** The call, from the folder of the page. */
export const CHECK_PATH = '/portcullis.v1.AuthorizationService/Check'

export type Headers = readonly (readonly [name: string, value: string])[]

/** The answer of a sidecar. */
export type Verdict =
  | {
      readonly type: 'decision'
      readonly allowed: boolean
      readonly reason: string
      readonly message: string
      /** Kind of the token, where an authority verifies it. */
      readonly kind: string | undefined
    }
  | { readonly type: 'error'; readonly message: string }

/**
 * Further facts that a service knows of a request. A text that is empty is not sent: the sidecar then judges
 * the token and the API alone.
 */
export interface Circumstances {
  readonly account: string
  readonly project: string
  readonly clientAddress: string
}

export const NO_CIRCUMSTANCES: Circumstances = { account: '', project: '', clientAddress: '' }

export function checkBody(api: string, headers: Headers, circumstances: Circumstances): string {
  const [account, project, clientAddress] = [
    circumstances.account.trim(),
    circumstances.project.trim(),
    circumstances.clientAddress.trim(),
  ]
  return JSON.stringify({
    api,
    credentials: { headers: headers.map(([name, value]) => ({ name, value })) },
    // The sidecar refuses a project without its account.
    ...(account + project !== '' && { target: { account, project } }),
    ...(clientAddress !== '' && { clientAddress }),
  })
}

/** Reads the answer. An unknown answer counts as none, and never as a permission. */
export function verdictOf(status: number, body: unknown): Verdict {
  const answer = recordOf(body)
  const text = (value: unknown): string => (typeof value === 'string' ? value : '')
  if (status !== 200) return { type: 'error', message: text(answer.message) }
  if (typeof answer.reason !== 'string') return { type: 'error', message: '' }
  return {
    type: 'decision',
    // JSON of protobuf leaves out what is false.
    allowed: answer.allowed === true && answer.reason === 'REASON_ALLOWED',
    reason: answer.reason.replace(/^REASON_/, ''),
    message: text(answer.message),
    kind: text(recordOf(answer.token).kind) || undefined,
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
