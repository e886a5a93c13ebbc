/** Connecting to a sidecar, and reading secrets from files, so that no process list shows them. */
import { join } from 'node:path'
import { DEFAULT_ADDRESS } from '../../clients/typescript/default-address.ts'
import type { DirectoryClient } from '../../clients/typescript/directory-client.ts'
import type { Client } from '../../clients/typescript/index.ts'
import { isThisMachine } from '../../clients/typescript/plaintext.ts'
import { type Connection, type MakeCall, Questions } from '../../clients/typescript/questions.ts'
import { type ListenAddress, parseAddress } from '../base/address.ts'
import { FileTooLong, readAtMost } from '../base/bounded-file.ts'
import { ADMINISTRATOR_TOKEN_FILE, DEFAULT_DATA_FOLDER } from '../base/data-folder.ts'
import { SECRET_EXPECTED, secretLine, secretText } from '../base/secret-text.ts'
import { usageError } from './terminal/errors.ts'
import type { ConnectionOptions, TlsOptions } from './terminal/output.ts'
import { tlsOf } from './tls.ts'

/** The most that is read of a file or of standard input, in bytes. */
const BYTES_MAX = 16 * 1024 * 1024

export interface SidecarOptions extends ConnectionOptions {
  readonly callerToken?: string | undefined
  readonly iamToken?: string | undefined
}

/** The methods of a client that commands call. */
export type Asked = Pick<Client, 'check' | 'issue' | 'revoke' | 'getMatrix'>

/** Connects to the sidecar for as long as `work` takes. */
export function withClient<T>(options: SidecarOptions, work: (client: Asked) => Promise<T>): Promise<T> {
  return connected(
    options,
    (connection) => work(new Questions(connection)),
    (client) => work(client),
  )
}

/** The same for administration, whose calls take longer to load. */
export function withDirectory<T>(
  options: SidecarOptions,
  work: (directory: DirectoryClient) => Promise<T>,
): Promise<T> {
  return connected(
    options,
    async ({ call }) =>
      work((await import('../../clients/typescript/directory-client.ts')).directoryClient(call)),
    ({ directory }) => work(directory),
  )
}

/** The variables of the environment by which grpc-js finds a proxy. */
const PROXIES = ['grpc_proxy', 'https_proxy', 'http_proxy']

/**
 * @param directly over a connection that makes single calls
 * @param throughProxy where grpc-js takes the proxy of the environment
 */
async function connected<T>(
  options: SidecarOptions,
  directly: (connection: Connection) => Promise<T>,
  throughProxy: (client: Client) => Promise<T>,
): Promise<T> {
  const address = checkedAddress(options.address)
  const tls = tlsOf(options, address)
  const { deadline: deadlineMs, callerToken, iamToken } = options
  const refuseIfExposed = () => {
    const allowed = tls !== undefined || options.allowPlaintext === true || isThisMachine(address)
    if (!allowed) throw plaintextError(address)
  }
  if (callerToken !== undefined || iamToken !== undefined) refuseIfExposed()
  const secrets = {
    ...(callerToken !== undefined && { callerToken }),
    ...(iamToken !== undefined && { iamToken }),
  }
  if (tls !== undefined && !isThisMachine(address) && PROXIES.some((name) => process.env[name])) {
    const { connect } = await import('../../clients/typescript/index.ts')
    const client = connect(address, { deadlineMs, tls, ...secrets })
    return throughProxy(client).finally(() => client.close())
  }
  const { UnaryCalls } = await import('./unary-calls.ts')
  const calls = new UnaryCalls({ address, tls, deadlineMs, ...secrets })
  const call: MakeCall = async ({ path, requestSerialize, responseDeserialize }, request) =>
    responseDeserialize(await calls.call(path, requestSerialize(request)))
  return directly({ call, refuseIfExposed }).finally(() => calls.close())
}

function plaintextError(address: string): Error {
  return usageError(
    `--address ${address}: a secret would be sent to another machine in plaintext; use --tls, --ca, --cert and --key, or --allow-plaintext if something else encrypts the connection`,
  )
}

/**
 * Ids of the APIs in the matrix of the sidecar, which may differ from ours. Empty where it does not answer.
 */
export async function apisOf(client: Pick<Asked, 'getMatrix'>): Promise<string[]> {
  const { apis } = await client.getMatrix().catch(() => ({ apis: [] }))
  return apis.map(({ id }) => id)
}

/**
 * The given address, or else that of the environment, or else the default. The client takes many more forms,
 * and reports a mistyped one as an unknown host.
 */
export function checkedAddress(given: string | undefined): string {
  const address = given ?? process.env.PORTCULLIS_GRPC_ADDRESS ?? DEFAULT_ADDRESS
  const expected = '--address (or PORTCULLIS_GRPC_ADDRESS): expected HOST:PORT or unix:PATH'
  let parsed: ListenAddress | undefined
  try {
    parsed = parseAddress('--address', address)
  } catch {}
  if (parsed?.type === 'unix' || (parsed?.port ?? 0) > 0) return address
  throw usageError(expected)
}

/**
 * The caller token of `--caller-token-file`, or else the operator's token in the data folder. `undefined`: no
 * option names one, and the client certificate says who asks.
 *
 * @param choices the options that name a token, for the message where there is no such folder
 */
export function readCallerToken(
  { data, callerTokenFile, cert = process.env.PORTCULLIS_TLS_CERT }: IdentityOptions,
  choices: string,
): string | undefined {
  if (callerTokenFile !== undefined) return readTokenLine('--caller-token-file', callerTokenFile)
  if (data === undefined && cert !== undefined) return undefined
  const folder = data ?? process.env.PORTCULLIS_DATA ?? DEFAULT_DATA_FOLDER
  try {
    return readTokenLine('--data', join(folder, ADMINISTRATOR_TOKEN_FILE))
  } catch (error) {
    throw new Error(`${(error as Error).message}; use ${choices}`, { cause: error })
  }
}

/** Options that say who asks. */
export interface IdentityOptions extends Pick<TlsOptions, 'cert'> {
  readonly data?: string
  readonly callerTokenFile?: string
  readonly iamTokenFile?: string
}

/**
 * The requester: the user of `--iam-token-file`, or else the caller of `--caller-token-file` or of the data
 * folder.
 */
export function readIdentity(options: IdentityOptions): {
  callerToken?: string | undefined
  iamToken?: string
} {
  const { iamTokenFile, callerTokenFile } = options
  if (iamTokenFile === undefined)
    return { callerToken: readCallerToken(options, '--data, --caller-token-file or --iam-token-file') }
  if (callerTokenFile !== undefined)
    throw usageError('--iam-token-file: expected no --caller-token-file with it')
  return { iamToken: readTokenLine('--iam-token-file', iamTokenFile) }
}

/** The first line of a file; `-` is standard input. */
export function readSecretLine(option: string, path: string): string {
  const [line = ''] = readText(option, path).split(/\r?\n/, 1)
  if (line === '') throw usageError(`${option}: expected a secret in the first line of ${path}`)
  return line
}

/**
 * A token in the first line of a file, with or without the header that `portcullis issue` prints before it.
 */
export function readTokenLine(option: string, path: string): string {
  // The output of `portcullis issue` has a header, and may have a scheme. No token has a space.
  const [, token = ''] =
    /^(?:[A-Za-z][\w-]*:[ \t]*(?:[A-Za-z][\w-]* +)?)?(\S+)$/.exec(readSecretLine(option, path)) ?? []
  if (!/^[\x21-\x7e]+$/.test(token))
    throw usageError(`${option}: expected a token without spaces in the first line of ${path}`)
  return token
}

/**
 * Headers as curl takes them: `NAME: VALUE`, or `@FILE` with one header a line. Standard input is `-` or
 * `@-`. A file keeps the credential out of the process list, which every user of the machine can see.
 */
export function readHeaders(values: readonly string[]): [name: string, value: string][] {
  const lines = values.flatMap((value) =>
    value === '-' || value.startsWith('@')
      ? readText('--header', value.replace(/^@/, ''))
          .split(/\r?\n/)
          .filter((line) => line !== '')
      : [value],
  )
  return lines.map((line) => {
    const colon = line.indexOf(':')
    // The line may be a credential, so it is not shown.
    if (colon < 1) throw usageError("--header: expected 'NAME: VALUE', or @FILE with one a line")
    return [line.slice(0, colon), line.slice(colon + 1)]
  })
}

/**
 * A secret in a variable: its first line. Unlike the arguments of a process, only its user can read its
 * environment.
 *
 * @returns `undefined`: there is none
 */
export function secretOfVariable(variable: string): string | undefined {
  const secret = secretLine(process.env[variable] ?? '')
  if (secret === undefined) throw usageError(`${variable}: expected ${SECRET_EXPECTED}`)
  return secret === '' ? undefined : secret
}

function readText(option: string, path: string): string {
  let text: string | undefined
  try {
    text = secretText(readAtMost(path, BYTES_MAX))
  } catch (error) {
    if (error instanceof FileTooLong) throw new Error(`${option}: ${path}: ${error.message}`)
    throw new Error(`${option}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, {
      cause: error,
    })
  }
  if (text === undefined) throw usageError(`${option}: expected ${SECRET_EXPECTED} in ${path}`)
  return text
}
