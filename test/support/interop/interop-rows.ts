/** Rows that many tests ask, and what is looked at in the answers. */
import type { Answer, Json, Row } from './client.ts'
import type { Sidecar } from './sidecar.ts'

/** A header as it arrived. */
export type Header = readonly [name: string, value: string]

/** May these headers open the API? */
export function checkRow(api: string, ...headers: readonly Header[]): Row {
  return {
    call: 'AuthorizationService/Check',
    requests: [{ api, credentials: { headers: headers.map(([name, value]) => ({ name, value })) } }],
  }
}

/** A token for the demo's service user, please. */
export function issueRow({ account, service_user: user }: Sidecar['demo'], purpose: object): Row {
  const password = { account, user_name: user.name, password: user.password }
  return { call: 'AuthorizationService/Issue', requests: [{ password, ...purpose }] }
}

/** The one response of a call that is answered. @throws Error where it is not */
export function responseOf({ responses: [response], error }: Answer): Json {
  if (error !== undefined || response === undefined)
    throw new Error(`expected an answer, got ${error?.code}: ${error?.message}`)
  return response
}

/** Why there is no answer: the status, the reason of `ErrorInfo`, the fields of `BadRequest`. */
export function refusalOf({ error }: Answer): object {
  const detail = (type: string) =>
    error?.details.find((each) => each['@type'] === `type.googleapis.com/google.rpc.${type}`)
  const info = detail('ErrorInfo')
  return {
    code: error?.code,
    reason: info?.reason,
    domain: info?.domain,
    fields: detail('BadRequest')?.field_violations.map(({ field }: { field: string }) => field) ?? [],
  }
}
