/** Starts the servers of this project that are measured: the sidecar, and servers that do less. */
import { join } from 'node:path'
import { ROOT } from '../harness/paths.ts'
import { ServerProcess } from '../harness/process.ts'

/** The line that a development sidecar prints when it is ready. */
export interface SidecarReady {
  readonly grpc: string
  /** Where HTTP listens, or `off`. */
  readonly http: string
  readonly matrix_digest: string
  readonly demo: {
    readonly account: string
    readonly project: string
    readonly service_user: { readonly name: string; readonly password: string }
    readonly static_token: string
  }
}

/** The line of a constant server. */
export interface ConstantReady {
  readonly grpc: string
}

/** How a sidecar is started. */
export interface SidecarOptions {
  /** Flags of `serve`. */
  readonly flags?: readonly string[]
  /** Absent: the launcher of this checkout, which runs the sources. */
  readonly launcher?: string
  /** Flags of Node itself. */
  readonly nodeFlags?: readonly string[]
  /** The transport of the calls; absent: the default. */
  readonly transport?: 'sockets' | 'grpc-js'
  /** Further variables of its environment. */
  readonly environment?: Readonly<Record<string, string>>
}

export const LAUNCHER = join(ROOT, 'sidecar', 'portcullis.js')

/** `serve` on free ports, without HTTP, with a line of JSON when it is ready. */
const SERVE = ['serve', '--json', '--grpc', '127.0.0.1:0', '--http', 'off']

/** Starts a development sidecar in its default configuration, except for free ports. */
export function startSidecar({
  flags = [],
  launcher = LAUNCHER,
  nodeFlags = [],
  transport,
  environment,
}: SidecarOptions = {}): Promise<ServerProcess<SidecarReady>> {
  const variables = { ...(transport && { PORTCULLIS_GRPC_TRANSPORT: transport }), ...environment }
  return ServerProcess.start(launcher, [...SERVE, '--dev', ...flags], nodeFlags, variables)
}

/** Starts a sidecar on an existing data folder. */
export function startSidecarOn(
  dataFolder: string,
  { flags = [], launcher = LAUNCHER, nodeFlags = [], environment = {} }: SidecarOptions = {},
): Promise<ServerProcess<Pick<SidecarReady, 'grpc' | 'matrix_digest'> & { readonly egress?: string }>> {
  return ServerProcess.start(launcher, [...SERVE, '--data', dataFolder, ...flags], nodeFlags, environment)
}

/** Starts `constant.ts`: grpc-js with a constant answer. */
export function startConstant(
  answerBytes: number,
  ...work: readonly 'signature'[]
): Promise<ServerProcess<ConstantReady>> {
  return ServerProcess.start(join(import.meta.dirname, 'constant.ts'), [String(answerBytes), ...work])
}

/** Starts `bare-http2.ts`: a constant answer without grpc-js. */
export function startBareHttp2(answerBytes: number): Promise<ServerProcess<ConstantReady>> {
  return ServerProcess.start(join(import.meta.dirname, 'bare-http2.ts'), [String(answerBytes)])
}

/** The line of a server of HTTP alone. */
export interface HttpReady {
  /** `HOST:PORT` */
  readonly http: string
}

/** Starts `target.ts`: a constant answer over HTTP. */
export function startTarget(answerBytes: number): Promise<ServerProcess<HttpReady>> {
  return ServerProcess.start(join(import.meta.dirname, 'target.ts'), [String(answerBytes)])
}

/** Starts `forward.ts`: forwards to the target and does nothing else. */
export function startForwarder(target: string): Promise<ServerProcess<HttpReady>> {
  return ServerProcess.start(join(import.meta.dirname, 'forward.ts'), [`http://${target}`])
}
