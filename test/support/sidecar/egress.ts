/**
 * A sidecar with egress, targets that record what reaches them, and a client that sends bytes as they are.
 */
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestListener,
  request,
  type Server,
} from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { newFile, newFolder, whenTheFileEnds } from '../suite/resources.ts'
import { ACCOUNT, populate, type RunningSidecar, runSidecar, type SidecarOptions } from './sidecar.ts'

/** A request that reached a target. */
export interface Received {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: string
}

export interface TargetServer {
  readonly url: string
  readonly received: Received[]
  readonly server: Server
}

/** A target. By default it records each request whole, and answers `ok`. */
export async function startTarget(listener?: RequestListener): Promise<TargetServer> {
  const received: Received[] = []
  const record: RequestListener = async (incoming, response) => {
    received.push(await recorded(incoming))
    response.end('ok')
  }
  const server = createServer(listener ?? record)
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenTheFileEnds(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received, server }
}

/** The request with its whole body. */
export async function recorded(incoming: IncomingMessage): Promise<Received> {
  const { method, url, headers, rawHeaders } = incoming
  const chunks = await Array.fromAsync(incoming as AsyncIterable<Buffer>)
  return { method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString() }
}

export const CALLER_TOKEN = 'report-job-caller-token-0123456789abcdef'
export const OTHER_CALLER_TOKEN = 'other-job-caller-token-0123456789abcdef'

export interface EgressSidecar extends RunningSidecar {
  /** Where egress listens. */
  readonly egress: string
  readonly staticToken: string
}

/**
 * A route of the configuration; what is left out is `/`, for balance with the profile `nightly`, for anyone.
 */
export type RouteWish = Readonly<Record<string, unknown>> & { readonly url: string }

/** The configuration of a populated folder, with these routes. */
export async function egressConfig(
  routes: readonly RouteWish[],
  more: object = {},
): Promise<{ folder: string; config: string; staticToken: string }> {
  const folder = join(newFolder(), 'data')
  const secrets = await populate(await runSidecar({ folder }))
  const password = newFile(secrets.passwordOf('account'))
  const profile = { account: ACCOUNT, user_name: 'account', password_file: password }
  const config = {
    egress: {
      address: '127.0.0.1:0',
      routes: routes.map((route) => ({
        path: '/',
        api: 'balance',
        profile: 'nightly',
        callers: 'anyone',
        ...route,
      })),
    },
    profiles: {
      nightly: profile,
      'with-static': { ...profile, static_token_file: newFile(secrets.staticToken) },
      stale: { ...profile, password_file: newFile('an earlier password') },
    },
    callers: [
      { name: 'report-job', token_file: newFile(CALLER_TOKEN) },
      { name: 'other-job', token_file: newFile(OTHER_CALLER_TOKEN), profiles: ['nightly'] },
    ],
    ...more,
  }
  return {
    folder,
    config: newFile(JSON.stringify(config), 'portcullis.json'),
    staticToken: secrets.staticToken,
  }
}

/** Starts a sidecar with these routes. */
export async function runEgress(
  routes: readonly RouteWish[],
  options: SidecarOptions & { readonly more?: object } = {},
): Promise<EgressSidecar> {
  const { folder, config, staticToken } = await egressConfig(routes, options.more)
  const running = await runSidecar({ ...options, folder, config })
  return { ...running, egress: running.sidecar.egressAddress ?? '', staticToken }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

export interface Wish {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string
}

/** Asks over HTTP, on a separate connection. */
export async function ask(
  address: string,
  path: string,
  { method, headers = {}, body }: Wish = {},
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const to = address.startsWith('unix:')
    ? { socketPath: address.slice('unix:'.length) }
    : { host: '127.0.0.1', port: Number(address.split(':').at(-1)) }
  request(
    { ...to, path, method: method ?? (body === undefined ? 'GET' : 'POST'), headers, agent: false },
    resolve,
  )
    .on('error', reject)
    .end(body)
  const response = await promise
  const chunks = await Array.fromAsync(response as AsyncIterable<Buffer>)
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: Buffer.concat(chunks).toString(),
  }
}

/** Sends bytes as they are, and returns everything that comes back until the connection ends. */
export function exchange(address: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: Number(address.split(':').at(-1)) })
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
    })
    // A server that refuses a request may reset the connection while the rest of it is still sent.
    socket.on('error', (error) => (text === '' ? reject(error) : undefined))
    socket.on('close', () => resolve(text))
    socket.write(Buffer.from(bytes, 'latin1'))
  })
}
