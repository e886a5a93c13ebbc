/**
 * Calls that a sidecar forwards for one of its clients. Whatever a decision, the throttle, a turn or a
 * record takes from a connection is then that of the client: as the sidecar says, if it is a caller with the
 * right `follow`.
 */
import { LazyLruCache } from '../authority/lazy-lru-cache.ts'
import { isLoopback } from '../base/address.ts'
import {
  FORWARDED_HEADER,
  FORWARDER_HEADER,
  type ForwardedFrom,
  readForwarded,
} from '../base/forwarded-header.ts'
import type { Caller } from '../usecases/callers.ts'
import type { Admitting } from '../usecases/capabilities.ts'
import type { CallContext, ClientConnection, MetadataName, Method, Methods } from './call.ts'

const DIRECTORY_SERVICE = '/portcullis.v1.DirectoryService/'
const REVOKE = '/portcullis.v1.AuthorizationService/Revoke'
const ISSUE = '/portcullis.v1.AuthorizationService/Issue'

/** Whether a sidecar without a directory forwards the bytes of such a call. */
export function needsDirectory(path: string): boolean {
  return path.startsWith(DIRECTORY_SERVICE) || path === REVOKE
}

/** Most connections of clients of other sidecars that are distinguished. */
const CONNECTIONS_MAX = 10_000

/**
 * The same methods, which see the client of a forwarded call.
 *
 * @param reachable whether other machines can reach the listener
 */
export function withHandedOn(methods: Methods, services: Admitting, reachable: boolean): Methods {
  const handedOn = new HandedOn(services, reachable)
  return new Map(
    [...methods].map(([path, method]): [string, Method] => {
      if (method.type !== 'unary' || !(needsDirectory(path) || path === ISSUE)) return [path, method]
      const { admit, handle } = method
      return [
        path,
        {
          type: 'unary',
          ...(admit && { admit: (context: CallContext) => admit(handedOn.contextOf(context)) }),
          handle: (request, context) => handle(request, handedOn.contextOf(context)),
        },
      ]
    }),
  )
}

const CONTEXTS = new WeakMap<CallContext, CallContext>()

/** A call as its handler saw it. */
export function asHandled(context: CallContext): CallContext {
  return CONTEXTS.get(context) ?? context
}

class HandedOn {
  readonly #services: Admitting
  readonly #reachable: boolean
  readonly #known = new LazyLruCache<ClientConnection>(CONNECTIONS_MAX)
  readonly #others = new WeakMap<ClientConnection, ClientConnection>()

  constructor(services: Admitting, reachable: boolean) {
    this.#services = services
    this.#reachable = reachable
  }

  contextOf(context: CallContext): CallContext {
    const claims = context.metadata(FORWARDED_HEADER)
    if (claims.length === 0) return context
    const { connection: by } = context
    const forwarder = this.#forwarderOf(context)
    const from = readForwarded(claims)
    if (forwarder === undefined) this.#report(by)
    const connection =
      forwarder === undefined || from === undefined ? this.#withoutClient(by) : this.#of(by, forwarder, from)
    const seen = new HandedOnContext(context, connection)
    CONTEXTS.set(context, seen)
    return seen
  }

  /** The sidecar that hands the call on; `undefined`: nothing identifies it, or it has no right to. */
  #forwarderOf(context: CallContext): Caller | undefined {
    const caller = this.#services.callers.findOrNobody({
      authorization: context.metadata(FORWARDER_HEADER),
      iamToken: [],
      certificateNames: this.#reachable ? context.connection.certificateNames : [],
    })
    return caller?.rights.everything || caller?.rights.follow ? caller : undefined
  }

  /** The connection of the client; the same object for all of its calls. */
  #of(by: ClientConnection, { name }: Caller, from: ForwardedFrom): ClientConnection {
    const key = JSON.stringify([name, by.address, from])
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const connection = { ...factsOf(from), ...this.#placeOf(by, from) }
    this.#known.set(key, connection)
    return connection
  }

  #placeOf(by: ClientConnection, { address }: ForwardedFrom): Place {
    if (address === 'unknown') return { address: undefined, remote: true }
    const isUnix = address === 'unix socket'
    if (!isUnix && !isLoopback(address)) return { address }
    const isHere = by.address === undefined ? this.#isOnUnixSocket(by) : isLoopback(by.address)
    // The client is on the machine of the sidecar that hands its call on, which has this address here.
    if (!isHere) return { address: by.address, remote: true }
    if (!isUnix) return { address }
    return { address: this.#reachable ? by.address : undefined }
  }

  #isOnUnixSocket({ protocol }: ClientConnection): boolean {
    return !this.#reachable && protocol !== 'http'
  }

  /**
   * Nothing that is believed says who the client is. The connection counts for the throttle, for turns and
   * for records, and no account that restricts addresses lets it in.
   */
  #withoutClient(by: ClientConnection): ClientConnection {
    let seen = this.#others.get(by)
    if (seen === undefined) {
      const { protocol = 'grpc', address } = by
      seen = { ...factsOf({ protocol, vouched: false }), address }
      this.#others.set(by, seen)
    }
    return seen
  }

  #report({ protocol, address }: ClientConnection): void {
    this.#services.trace.record({
      level: 'warn',
      message: 'a call was forwarded without proof of the right `follow`; where it came from is not believed',
      by: { protocol: protocol ?? 'grpc', address },
    })
  }
}

type Place = Pick<ClientConnection, 'address' | 'remote'>

function factsOf({
  protocol,
  vouched,
}: Pick<ForwardedFrom, 'protocol' | 'vouched'>): Omit<ClientConnection, 'address' | 'remote'> {
  return {
    ...(protocol === 'http' && { protocol }),
    ...(!vouched && { vouched }),
    certificateNames: [],
  }
}

/** A call whose client is at another sidecar. */
class HandedOnContext implements CallContext {
  readonly connection: ClientConnection
  readonly requestId?: string
  readonly #context: CallContext

  constructor(context: CallContext, connection: ClientConnection) {
    this.connection = connection
    this.#context = context
    if (context.requestId !== undefined) this.requestId = context.requestId
  }

  metadata(name: MetadataName): readonly string[] {
    return this.#context.metadata(name)
  }

  get session(): Buffer | undefined {
    return this.#context.session
  }
}
