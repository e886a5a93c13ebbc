/** Asks a sidecar for its health: the health listener over HTTP, or gRPC's health service. */
import { DEFAULT_ADDRESS } from '../../../clients/typescript/default-address.ts'
import { HealthCheckResponse_ServingStatus, HealthService } from '../../../proto/gen/health/v1/health.ts'
import { type ListenAddress, parseAddress } from '../../base/address.ts'
import { usageError } from '../terminal/errors.ts'
import type { TlsOptions } from '../terminal/output.ts'

/** The health that a sidecar reports: it has answered, so it lives. */
export interface FoundHealth {
  /** `ready`, or why it is not. */
  readonly status: string
  /** Codes, where the answer names them. */
  readonly problems?: readonly string[]
}

/** The most that is read of an answer, in characters. */
const ANSWER_MAX = 65_536

/** @throws Error where there is no answer, or one that no health listener gives */
export async function askHealthListener(address: string, deadlineMs: number): Promise<FoundHealth> {
  const to = reachable('--health (or PORTCULLIS_HEALTH_ADDRESS)', address)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const where = to.type === 'unix' ? { socketPath: to.path } : { host: to.host, port: to.port }
  // An import of it would load its clients for browsers, too, which takes as long as Node itself.
  const { request } = process.getBuiltinModule('node:http')
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
  reachable('--address (or PORTCULLIS_GRPC_ADDRESS)', asked)
  const { tlsOf } = await import('../tls.ts')
  const { UnaryCalls } = await import('../unary-calls.ts')
  const calls = new UnaryCalls({ address: asked, tls: tlsOf(tlsOptions, asked), deadlineMs })
  const method = HealthService.check
  const answer = await calls
    .call(method.path, method.requestSerialize({ service: '' }))
    .finally(() => calls.close())
  const { status } = method.responseDeserialize(answer)
  return { status: status === HealthCheckResponse_ServingStatus.SERVING ? 'ready' : 'not ready' }
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
