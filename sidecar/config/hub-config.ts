/** The sidecars that this one follows instead of having a directory, as the configuration names them. */
import { isLoopback, parseAddress } from '../base/address.ts'
import { readAtMost, SMALL_FILE_BYTES_MAX } from '../base/bounded-file.ts'
import type { Secret } from '../base/secret.ts'
import { type Config, ConfigError } from './config.ts'
import { readSecret } from './configured-callers.ts'

export interface HubConfig {
  /** As grpc-js takes them. */
  readonly addresses: readonly string[]
  readonly stalenessMs: number
  readonly timeoutMs: number
  /** Reads the caller token; `undefined`: there is none. @throws ConfigError */
  readonly token: () => Secret | undefined
  /** Reads the files of TLS; `undefined`: the hubs are on this machine. @throws ConfigError */
  readonly tls: () => { readonly ca: Buffer; readonly certificate: Buffer; readonly key: Buffer } | undefined
}

/** @throws ConfigError where the hubs cannot be followed so */
export function hubOf({ directory, http }: Config): HubConfig | undefined {
  const { hub, url, staleness_ms: stalenessMs, timeout_ms: timeoutMs } = directory
  if (hub === undefined) return undefined
  if (url !== undefined) throw new ConfigError('directory: expected either url or hub')
  if (http.control_panel !== undefined)
    throw new ConfigError('http.control_panel: expected a directory; a sidecar with `directory.hub` has none')
  const { addresses, token_file: tokenFile, tls } = hub
  for (const [index, address] of addresses.entries()) {
    const parsed = parseAddress(`directory.hub.addresses[${index}]`, address, 'HOST:PORT, or unix:PATH')
    if (tls === undefined && parsed.type === 'tcp' && !isLoopback(parsed.host))
      throw new ConfigError(
        `directory.hub.addresses[${index}]: expected an address of this machine, or directory.hub.tls`,
      )
  }
  if (tokenFile === undefined && tls === undefined)
    throw new ConfigError('directory.hub: expected token_file or tls, which say which caller this sidecar is')
  return {
    ...{ addresses, stalenessMs, timeoutMs },
    token: () => (tokenFile === undefined ? undefined : readSecret('directory.hub.token_file', tokenFile)),
    tls: () =>
      tls && {
        ca: read('ca', tls.ca),
        certificate: read('certificate', tls.certificate),
        key: read('key', tls.key),
      },
  }
}

function read(key: string, path: string): Buffer {
  try {
    return readAtMost(path, SMALL_FILE_BYTES_MAX)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError(`directory.hub.tls.${key}: ${path} cannot be read (${code})`)
  }
}
