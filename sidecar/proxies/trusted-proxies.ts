/**
 * The proxies whose word about a request counts: where it came from. A proxy on another machine is known by
 * its address. Every process of this machine can send from each address of this machine, so a proxy here is
 * known by a secret too.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { networkInterfaces } from 'node:os'
import type { Logger } from 'pino'
import { isAllowed, overlap, readRange } from '../authority/addresses.ts'
import { LazyLruCache } from '../authority/lazy-lru-cache.ts'
import { type IpAddress, ipAddress } from '../base/ip-address.ts'
import { carrierOf } from '../base/net/http-request.ts'
import type { Secret } from '../base/secret.ts'
import { WatchedFile } from '../base/watched-file.ts'
import { FORWARDED_FOR } from './client-address.ts'

export interface ProxyOptions {
  /** Addresses and ranges that the proxies send from. */
  readonly addresses: readonly string[]
  /**
   * The secrets by which they prove themselves, too; `undefined`: the address alone counts, and no address of
   * this machine.
   */
  readonly secrets: ProxySecretFile | undefined
}

export interface ProxySecretFile {
  readonly path: string
  /** @throws Error that names the key and the file */
  readonly read: () => readonly Secret[]
}

/** How a request is answered that only a proxy may send, or that says more than its sender may. */
export interface RefusedProxy {
  readonly status: 403
  readonly message: string
}

/** The header in which a proxy sends its secret. */
export const SECRET_HEADER = 'X-Portcullis-Proxy-Secret'

const SECRET_FIELD = SECRET_HEADER.toLowerCase()
const LOOPBACK = ['127.0.0.0/8', '::1/128']

/** Time between two looks at the file with the secrets, in milliseconds. */
const POLL_MS = 1_000

/** Most addresses that are remembered, of proxies and of their clients. */
const ADDRESSES_MAX = 1_000

export class TrustedProxies {
  readonly #ranges: readonly string[]
  readonly #secrets: ProxySecrets | undefined
  readonly #ownAddresses: () => readonly string[]
  readonly #inRanges = new LazyLruCache<{ readonly value: boolean }>(ADDRESSES_MAX)

  /**
   * @param ownAddresses the addresses of this machine now, besides those of loopback
   * @throws Error that names the key of the configuration
   */
  constructor(
    options: ProxyOptions,
    log?: Pick<Logger, 'info' | 'error'>,
    ownAddresses = addressesOfInterfaces,
  ) {
    this.#ranges = rangesOf(options, ownAddresses())
    this.#ownAddresses = ownAddresses
    this.#secrets = options.secrets && new ProxySecrets(options.secrets, log)
  }

  /** Whether a known proxy sent the request. */
  sent(request: IncomingMessage): boolean {
    const peer = ipAddress(request.socket.remoteAddress)
    if (!this.#isInRanges(peer)) return false
    if (this.#secrets === undefined) return !this.#isOwn(peer)
    const secrets = request.headersDistinct[SECRET_FIELD]
    return secrets?.length === 1 && this.#secrets.isProvenBy(secrets[0] as string, carrierOf(request))
  }

  /**
   * The fault of a request that claims an origin or a proxy. It is refused and not answered as one of the
   * sender's own: an account may allow the address of a proxy, and would be open to all its clients.
   *
   * @param asked whether only proxies may send such a request
   */
  problemOf(request: IncomingMessage, asked = false): RefusedProxy | undefined {
    const { headers, socket } = request
    if (asked) return this.sent(request) ? undefined : { status: 403, message: this.#expected('') }
    if (headers[FORWARDED_FOR] === undefined && headers[SECRET_FIELD] === undefined) return undefined
    if (!this.#isInRanges(ipAddress(socket.remoteAddress)) || this.sent(request)) return undefined
    return { status: 403, message: this.#expected(' beside X-Forwarded-For') }
  }

  /**
   * Where a request came from: the last address that is not a proxy's, of the sender and of what
   * X-Forwarded-For lists. Hop 0 is the sender, which `problemOf` has looked at. The secret says nothing
   * about the hops behind it: a process of this machine can be a client of the proxy, too. Where a proxy
   * names something else than an address, the parts before it are not looked at.
   */
  clientOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): IpAddress | undefined {
    let client = ipAddress(socket.remoteAddress)
    const list = headers[FORWARDED_FOR]
    if (typeof list !== 'string') return client
    for (let hop = 0, end = list.length; end >= 0 && this.#isProxy(client, hop); hop++) {
      const comma = list.lastIndexOf(',', end - 1)
      client = ipAddress(list.slice(comma + 1, end).trim())
      end = comma
    }
    return client
  }

  #isProxy(address: IpAddress | undefined, hop: number): boolean {
    return this.#isInRanges(address) && (hop === 0 || !this.#isOwn(address))
  }

  /** Looks at the file with the secrets now. */
  reload(): void {
    this.#secrets?.reload()
  }

  close(): void {
    this.#secrets?.close()
  }

  #expected(where: string): string {
    return this.#secrets === undefined
      ? 'expected a proxy of http.trusted_proxies on another machine; one on the machine of the sidecar needs http.proxy_secret_file'
      : `expected a proxy of http.trusted_proxies, and one ${SECRET_HEADER} with a secret of http.proxy_secret_file${where}`
  }

  /** The ranges never change, and proxies send from the same few addresses. */
  #isInRanges(address: IpAddress | undefined): boolean {
    if (address === undefined) return false
    const known = this.#inRanges.get(address)
    if (known !== undefined) return known.value
    const value = isAllowed(address, this.#ranges)
    this.#inRanges.set(address, { value })
    return value
  }

  #isOwn(address: IpAddress | undefined): boolean {
    return isAllowed(address, [...LOOPBACK, ...singles(this.#ownAddresses())])
  }
}

/** The secrets of the file, as it is now. A file that cannot be used changes nothing. */
class ProxySecrets {
  readonly #file: WatchedFile<readonly Buffer[]>
  #digests: readonly Buffer[]
  /** The proof of each connection, and the secrets at that time. */
  readonly #proven = new WeakMap<object, { readonly text: string; readonly digests: readonly Buffer[] }>()

  constructor({ path, read }: ProxySecretFile, log?: Pick<Logger, 'info' | 'error'>) {
    this.#file = new WatchedFile<readonly Buffer[]>({
      path,
      pollMs: POLL_MS,
      read: () => read().map((secret) => digestOf(secret.reveal())),
      onChanged: (digests) => {
        this.#digests = digests
        log?.info({ secrets: digests.length }, 'the secrets of the proxies were read again')
      },
      onRefused: ({ message }) =>
        log?.error(
          { problem: message },
          'the secrets of the proxies cannot be read again; the last good ones stay in force',
        ),
    })
    this.#digests = this.#file.initial
  }

  /**
   * Whether it is one of the secrets now, in a time that does not depend on how much of the text is right. A
   * connection that has sent it before knows it, so nothing can be learned from a plain comparison.
   */
  isProvenBy(text: string, connection: object): boolean {
    const before = this.#proven.get(connection)
    if (before?.digests === this.#digests && before.text === text) return true
    const digest = digestOf(text)
    const isSecret = this.#digests.some((known) => timingSafeEqual(digest, known))
    if (isSecret) this.#proven.set(connection, { text, digests: this.#digests })
    return isSecret
  }

  reload(): void {
    this.#file.reload()
  }

  close(): void {
    this.#file.close()
  }
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

/** @throws Error that names the key of the configuration */
function rangesOf({ addresses, secrets }: ProxyOptions, own: readonly string[]): string[] {
  if (addresses.length === 0)
    throw new Error(
      'http.proxy_secret_file: expected http.trusted_proxies too, the addresses that the proxies send from',
    )
  return addresses.map((proxy, index) => {
    const at = `http.trusted_proxies[${index}]`
    const reading = readRange(proxy)
    if (!reading.ok) throw new Error(`${at}: expected ${reading.expected}`)
    const { range } = reading
    // A range around an address of this machine can be meant for the machines beside it.
    if (
      secrets === undefined &&
      (LOOPBACK.some((each) => overlap(each, range)) || singles(own).includes(range))
    )
      throw new Error(
        `${at}: ${proxy} is this machine, where every process could pretend to be the proxy; expected http.proxy_secret_file too, a file with a secret that the proxy sends as ${SECRET_HEADER}`,
      )
    return range
  })
}

/** Ranges of one address each. */
function singles(addresses: readonly string[]): string[] {
  return addresses.flatMap((address) => {
    const reading = readRange(address)
    return reading.ok ? [reading.range] : []
  })
}

function addressesOfInterfaces(): string[] {
  return Object.values(networkInterfaces()).flatMap((found) => found?.map(({ address }) => address) ?? [])
}
