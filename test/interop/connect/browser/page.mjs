/** Asks a sidecar from a page, with the clients that are generated of the protos. */
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web'
import { AuthorizationService } from './portcullis/v1/authorization_pb'

window.ask = async (baseUrl, form, callerToken) => {
  const useBinaryFormat = !form.includes('JSON')
  const transport = form.startsWith('Connect')
    ? createConnectTransport({ baseUrl, useBinaryFormat })
    : createGrpcWebTransport({ baseUrl, useBinaryFormat })
  const client = createClient(AuthorizationService, transport)
  const headers = callerToken === undefined ? undefined : { authorization: `Bearer ${callerToken}` }
  try {
    const token = { kind: 'static_token', scope: { account: '1' } }
    const answer = await client.check(
      { api: 'balance', subject: { case: 'token', value: token } },
      { headers },
    )
    const refused = await client.check({}, { headers }).catch((error) => ConnectError.from(error))
    for await (const { matrix } of client.watchMatrix({}, { headers }))
      return {
        allowed: answer.allowed,
        refused: refused instanceof ConnectError ? [Code[refused.code], refused.rawMessage] : 'answered',
        apis: matrix?.apis.length,
      }
    return 'no matrix'
  } catch (error) {
    return `refused: ${ConnectError.from(error).rawMessage}`
  }
}
