/** TLS to a sidecar: the files of the options or of the environment, read and checked. */
import { X509Certificate } from 'node:crypto'
import type { ClientOptions } from '../../clients/typescript/index.ts'
import { readAtMost, SMALL_FILE_BYTES_MAX } from '../base/bounded-file.ts'
import { type ExpectedPrivacy, exposureOf } from '../base/exposure.ts'
import type { AgentConfig } from '../config/agent-config.ts'
import { usageError } from './terminal/errors.ts'
import type { TlsOptions } from './terminal/output.ts'

export type Tls = NonNullable<ClientOptions['tls']>

/** Called for a key that others can read. It is used nevertheless, as those of a sidecar are. */
type OnExposed = (path: string, problem: string) => void

const warn: OnExposed = (path, problem) => void process.stderr.write(`warning: ${path}: ${problem}\n`)

/** The names of the options, for errors. */
type TlsNames = Readonly<Record<'ca' | 'cert' | 'key', string>>

const NAMES: TlsNames & Record<'tls', string> = {
  tls: '--tls (or PORTCULLIS_TLS)',
  ca: '--ca (or PORTCULLIS_TLS_CA)',
  cert: '--cert (or PORTCULLIS_TLS_CERT)',
  key: '--key (or PORTCULLIS_TLS_KEY)',
}

/**
 * The TLS of a command; `undefined`: the connection is in plaintext.
 *
 * @throws CommandError that names the option, the file and the expected value
 */
export function tlsOf(options: TlsOptions, address: string, onExposed: OnExposed = warn): Tls | undefined {
  const { env } = process
  const {
    tls = isOn(env.PORTCULLIS_TLS),
    ca = env.PORTCULLIS_TLS_CA,
    cert = env.PORTCULLIS_TLS_CERT,
    key = env.PORTCULLIS_TLS_KEY,
    serverName = env.PORTCULLIS_TLS_SERVER_NAME,
  } = options
  if (!tls && [ca, cert, key, serverName].every((each) => each === undefined)) return undefined
  expectNoSocket(NAMES.tls, address)
  return readTls({ ca, cert, key, serverName }, NAMES, onExposed)
}

/** The TLS of an agent: that of its configuration, or else of the environment. @throws CommandError */
export function tlsOfAgent(
  { address, tls }: Pick<AgentConfig, 'address' | 'tls'>,
  onExposed: OnExposed,
): Tls | undefined {
  const asked = address ?? process.env.PORTCULLIS_GRPC_ADDRESS ?? ''
  if (tls === undefined) return tlsOf({}, asked, onExposed)
  expectNoSocket('sidecar.tls', asked)
  const { ca, certificate: cert, key, server_name: serverName } = tls
  const names = { ca: 'sidecar.tls.ca', cert: 'sidecar.tls.certificate', key: 'sidecar.tls.key' }
  return readTls({ ca, cert, key, serverName }, names, onExposed)
}

function expectNoSocket(name: string, address: string): void {
  if (address.startsWith('unix:'))
    throw usageError(`${name}: expected an address HOST:PORT, because a Unix socket has no TLS`)
}

function isOn(text: string | undefined): boolean {
  if (text !== undefined && text !== 'true' && text !== 'false')
    throw usageError('PORTCULLIS_TLS: expected true or false')
  return text === 'true'
}

/**
 * @param names of the files in the configuration, for errors
 * @throws CommandError that names the file and the expected value
 */
function readTls(
  { ca, cert, key, serverName }: { readonly [name in keyof TlsOptions]?: TlsOptions[name] | undefined },
  names: TlsNames,
  onExposed: OnExposed,
): Tls {
  // Node warns of a host that is an IP address, which does not help an operator.
  process.noDeprecation = true
  if ((cert === undefined) !== (key === undefined))
    throw usageError(`${names.cert} and ${names.key}: expected both, or neither`)
  const tls = {
    // A process that can add an authority can be the sidecar, and gets the tokens.
    ...(ca !== undefined && { ca: readPem(names.ca, ca, onExposed, { mayBeRead: true }) }),
    ...(cert !== undefined && { certificate: readPem(names.cert, cert, onExposed, { mayBeRead: true }) }),
    ...(key !== undefined && { key: readPem(names.key, key, onExposed) }),
    ...(serverName !== undefined && { serverName }),
  }
  const { ca: authorities, certificate } = tls
  if (authorities !== undefined)
    check(names.ca, ca, 'certificates in PEM', () => new X509Certificate(authorities))
  if (certificate !== undefined)
    check(names.cert, cert, 'a certificate in PEM, and its private key without a password', () =>
      // Loaded here alone: it takes half as long to load as Node.
      process.getBuiltinModule('node:tls').createSecureContext({ cert: certificate, key: tls.key }),
    )
  return tls
}

function check(name: string, path: string | undefined, expected: string, read: () => unknown): void {
  try {
    read()
  } catch {
    // The error of the library may quote the file.
    throw usageError(`${name}: ${path}: expected ${expected}`)
  }
}

/** Others may not change the file, and a key is for its user alone. */
function readPem(name: string, path: string, onExposed: OnExposed, expected?: ExpectedPrivacy): Buffer {
  let content: Buffer
  try {
    content = readAtMost(path, SMALL_FILE_BYTES_MAX)
  } catch (error) {
    throw usageError(`${name}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  const exposure = exposureOf(path, expected)
  if (exposure?.refused) throw usageError(`${name}: ${path}: ${exposure.problem}`)
  if (exposure !== undefined) onExposed(path, exposure.problem)
  return content
}
