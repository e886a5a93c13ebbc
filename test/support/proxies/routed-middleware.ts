/**
 * A middleware that leaves the API to the routes of the sidecar, held to the rows of every protocol with
 * routes.
 */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { CheckAnswer, Client } from '../../../clients/typescript/index.ts'
import { holdsToRoutes, ROUTES, type RoutedOutcome, type RoutedRow } from '../inputs/paths.ts'
import { connect } from '../sidecar/client.ts'
import { populate, runSidecar } from '../sidecar/sidecar.ts'
import { eventually, newFile, whenTheFileEnds } from '../suite/resources.ts'

export interface RoutedServices {
  readonly asked: Client
  readonly local: Client
  readonly staticToken: string
}

/** A sidecar with the routes of the rows, and two clients of it: one decides in its own memory. */
export async function startRouted(): Promise<RoutedServices> {
  const callerToken = 'follower-caller-token-0123456789abcdef'
  const callers = [{ name: 'service', token_file: newFile(callerToken), rights: ['follow'] }]
  const running = await runSidecar({
    config: newFile(JSON.stringify({ callers, routes: ROUTES }), 'config.json'),
  })
  const { staticToken } = await populate(running)
  const [asked, local] = [{}, { callerToken, local: true }].map((options) => {
    const client = connect(running.address, options)
    whenTheFileEnds(() => client.close())
    return client
  }) as [Client, Client]
  const known = { api: 'balance', credentials: { 'X-Token': staticToken }, clientAddress: '127.0.0.1' }
  await eventually(async () => {
    await local.check(known)
    return local.checkLocally(known) !== undefined
  })
  return { asked, local, staticToken }
}

/**
 * Node's client sends no line breaks, no letters beyond one byte and no method of its own making. An answer
 * to HEAD does not say why it refuses.
 */
export const canBeSent = ({ method, host, target, headers, expected }: RoutedRow): boolean =>
  /^[A-Z]+$/.test(method) &&
  (method !== 'HEAD' || expected.refused === undefined) &&
  method !== 'CONNECT' &&
  /^\/[^ ]*$/.test(target) &&
  [host, target].every((text) => /^[\x21-\xff](?:[\x20-\xff]*[\x21-\xff])?$/.test(text)) &&
  Object.values(headers)
    .flat()
    .every((text) => /^[\x20-\xff]*$/.test(text) && text === text.trim())

/**
 * @param serve answers each request that passes with the route in JSON; returns its URL
 * @param arrives whether a request that can be sent comes to the middleware
 */
export function guardsByRoutes(
  name: string,
  { asked, local, staticToken }: RoutedServices,
  serve: (client: Client) => Promise<string>,
  arrives: (row: RoutedRow) => boolean = () => true,
): void {
  for (const [mode, client] of [
    ['asked', asked],
    ['local', local],
  ] as const) {
    const served = serve(client)
    const ask = async ({ method, host, target: path, headers }: RoutedRow): Promise<RoutedOutcome> => {
      const { hostname, port } = new URL(await served)
      const sent = request({
        ...{ hostname, port, path, method: method === 'HEAD' ? 'GET' : method },
        headers: { ...headers, host, 'x-token': staticToken },
        agent: false,
      }).end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      const text = Buffer.concat(await response.toArray()).toString()
      const { statusCode = 0 } = response
      if (statusCode === 400) return { refused: 'NOT_CANONICAL' }
      const { route, error } = JSON.parse(text) as {
        route?: CheckAnswer['route']
        error?: { reason: string; message: string; accepted?: unknown[] }
      }
      if (route !== undefined) return { api: route.api, target: route.target } as RoutedOutcome
      const { reason = '', message = '', accepted = [] } = error ?? {}
      if (accepted.length === 0 && statusCode === 403) return { refused: reason } as RoutedOutcome
      return { api: /`([a-z0-9-]+)`/.exec(message)?.[1] ?? message }
    }
    holdsToRoutes(`${name}, ${mode},`, ask, (row) => canBeSent(row) && arrives(row))
  }
}
