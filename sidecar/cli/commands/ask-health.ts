/**
 * Asks a sidecar for its health: the health listener over HTTP, or gRPC's health service. A probe runs every
 * few seconds, so this loads no library of gRPC, which would take most of its time.
 */
import { request } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { DEFAULT_ADDRESS } from '../../../clients/typescript/default-address.ts'
import {
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
} from '../../../proto/gen/health/v1/health.ts'
import { type ListenAddress, parseAddress } from '../../base/address.ts'
import { usageError } from '../terminal/errors.ts'
import type { TlsOptions } from '../terminal/output.ts'
import type { Tls } from '../tls.ts'

type Tcp = Exclude<ListenAddress, { type: 'unix' }>

/** The health that a sidecar reports: it has answered, so it lives. */
export interface FoundHealth {
  /** `ready`, or why it is not. */
  readonly status: string
  /** Codes, where the answer names them. */
  readonly problems?: readonly string[]
}

/** The most that is read of an answer, in characters. */
const ANSWER_MAX = 65_536

/** Bytes before a message of gRPC. */
const PREFIX_BYTES = 5

/** @throws Error where there is no answer, or one that no health listener gives */
export async function askHealthListener(address: string, deadlineMs: number): Promise<FoundHealth> {
  const to = reachable('--health (or PORTCULLIS_HEALTH_ADDRESS)', address)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const where = to.type === 'unix' ? { socketPath: to.path } : { host: to.host, port: to.port }
  const asked = request({ ...where, path: '/readyz', agent: false }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (part: string) => {
      text += part
      if (text.length > ANSWER_MAX) response.destroy(new Error('the answer is too long'))
    })
    response.on('error', reject).on('end', () => resolve(text))
  })
  asked.on('error', reject).end()
  const text = await answered(address, deadlineMs, promise).finally(() => asked.destroy())
  const found = parsed(text)
  if (typeof found?.status !== 'string')
    throw new Error(`${address}: expected a health listener of Portcullis there`)
  return { status: found.status, problems: Array.isArray(found.problems) ? found.problems.map(String) : [] }
}

/**
 * @param address `undefined`: that of the environment, or the default
 * @throws Error where there is no answer
 */
export async function askGrpc(
  address: string | undefined,
  deadlineMs: number,
  tlsOptions: TlsOptions,
): Promise<FoundHealth> {
  const asked = address ?? process.env.PORTCULLIS_GRPC_ADDRESS ?? DEFAULT_ADDRESS
  const to = reachable('--address (or PORTCULLIS_GRPC_ADDRESS)', asked)
  const { tlsOf } = await import('../tls.ts')
  const tls = tlsOf(tlsOptions, asked)
  const session = to.type === 'unix' ? overSocket(to.path) : overTcp(to, tls)
  const message = await answered(asked, deadlineMs, checkOver(session)).finally(() => session.destroy())
  const { status } = HealthCheckResponse.decode(message.subarray(PREFIX_BYTES))
  return { status: status === HealthCheckResponse_ServingStatus.SERVING ? 'ready' : 'not ready' }
}

function overSocket(path: string): ClientHttp2Session {
  return connectHttp2('http://localhost', { createConnection: () => connectSocket(path) })
}

function overTcp({ host, port }: Tcp, tls: Tls | undefined): ClientHttp2Session {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  if (tls === undefined) return connectHttp2(`http://${authority}`)
  const { ca, certificate, key, serverName } = tls
  return connectHttp2(`https://${authority}`, {
    ...{ ca, cert: certificate, key, rejectUnauthorized: true },
    ...(serverName !== undefined && { servername: serverName }),
  })
}

/** `grpc.health.v1.Health/Check` of the whole server. */
function checkOver(session: ClientHttp2Session): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const stream = session.on('error', reject).request({
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Check',
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  const parts: Buffer[] = []
  // A stream that was never sent says why as its cause.
  stream.on('data', (part: Buffer) => parts.push(part)).on('error', (error) => reject(error.cause ?? error))
  stream.on('end', () => {
    const message = Buffer.concat(parts)
    if (message.length >= PREFIX_BYTES) resolve(message)
    else reject(new Error('expected a gRPC server with a health service'))
  })
  stream.end(Buffer.alloc(PREFIX_BYTES))
  return promise
}

/** @throws Error that names the address, after the deadline at the latest */
async function answered<T>(address: string, deadlineMs: number, answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`none within ${deadlineMs} ms`)), deadlineMs)
  try {
    return await Promise.race([answer, late.promise])
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new Error(`no answer from ${address}: ${code ?? message}`, { cause: error })
  } finally {
    clearTimeout(timer)
    // The loser of the race fails when it is ended.
    answer.catch(() => {})
  }
}

/** A listener on every address of the machine is asked at loopback. @throws CommandError */
function reachable(what: string, address: string): ListenAddress {
  let parsed: ListenAddress | undefined
  try {
    parsed = parseAddress(what, address)
  } catch {}
  if (parsed?.type === 'unix') return parsed
  if (parsed === undefined || parsed.port === 0) throw usageError(`${what}: expected HOST:PORT or unix:PATH`)
  return { ...parsed, host: { '0.0.0.0': '127.0.0.1', '::': '::1' }[parsed.host] ?? parsed.host }
}

function parsed(text: string): { readonly status?: unknown; readonly problems?: unknown } | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
