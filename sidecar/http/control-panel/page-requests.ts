/**
 * The requests of our own page, and their sessions. Whatever is not as the page sends it
 * has no session: no page of elsewhere can act with the session of its visitor.
 */
import type { IncomingMessage } from 'node:http'
import { hashOfPanelSecret } from '../../authority/control-panel/panel-secret.ts'
import { hasPasskeys } from '../../authority/control-panel/passkeys.ts'
import { type CallError, invalidArgument } from '../../base/call-error.ts'
import type { HttpReply } from '../../base/http/exchange.ts'
import type { Secret } from '../../base/secret.ts'
import { isOwnOrigin, type PageAddress } from '../host-header.ts'

/** A browser sends it to no other origin without asking, and no form sends it. */
const CONSOLE_HEADER = 'x-portcullis-console'

export class PageRequests {
  readonly #address: PageAddress
  readonly #overTls: boolean
  readonly #attributes: string

  constructor(address: PageAddress) {
    this.#address = address
    this.#overTls = address.secure || (address.publicUrl ?? '').startsWith('https:')
    this.#attributes = `Path=/; HttpOnly; SameSite=Strict${this.#overTls ? '; Secure' : ''}`
  }

  /** @throws CallError where the request is not as our page sends it */
  expectOurs(request: IncomingMessage): void {
    const problem = this.#problemOf(request)
    if (problem !== undefined) throw problem
  }

  /**
   * SHA-256 of the secret of the session that a request of our page has; `undefined`: it has none, and acts
   * for no user.
   */
  readonly sessionOf = (request: IncomingMessage): Buffer | undefined => {
    // Most calls are of programs, and need no look at all the rest.
    if (request.headers[CONSOLE_HEADER] === undefined) return undefined
    const { authorization, 'x-auth-token': iamToken } = request.headersDistinct
    if (authorization !== undefined || iamToken !== undefined || this.#problemOf(request)) return undefined
    const name = this.#cookieAt(request)
    const values = (request.headersDistinct.cookie ?? [])
      .flatMap((cookies) => cookies.split(';'))
      .map((cookie) => cookie.trim())
      .filter((cookie) => cookie.startsWith(`${name}=`))
    const [value, ...more] = values
    // Of two, one may come from a stranger.
    if (value === undefined || more.length > 0) return undefined
    return hashOfPanelSecret(value.slice(name.length + 1))
  }

  setCookie(reply: HttpReply, secret: Secret): void {
    reply.header('set-cookie', `${this.#cookieAt(reply.request.raw)}=${secret.reveal()}; ${this.#attributes}`)
  }

  clearCookie(reply: HttpReply): void {
    reply.header('set-cookie', `${this.#cookieAt(reply.request.raw)}=; ${this.#attributes}; Max-Age=0`)
  }

  /**
   * The name of the cookie. Over https its prefix makes a browser take it from this host alone. Over http two
   * sidecars of one machine would replace each other's cookies: browsers keep them by the host, whatever the
   * port. So the name has the port of the listener.
   */
  #cookieAt({ socket }: IncomingMessage): string {
    return this.#overTls ? '__Host-portcullis' : `portcullis-${socket.localPort}`
  }

  /**
   * The origin of the page that a request is from. A request that only reads has none; then it is the one
   * that it names.
   */
  originOf({ headers }: IncomingMessage): string {
    return headers.origin ?? `${this.#address.secure ? 'https' : 'http'}://${headers.host}`
  }

  /** Whether passkeys are possible where the page was opened. */
  hasPasskeys(request: IncomingMessage): boolean {
    const { publicUrl = '' } = this.#address
    // A request that only reads does not say whether the page was opened through a proxy, which has the other
    // address.
    const origins = request.headers.origin ? [request.headers.origin] : [this.originOf(request), publicUrl]
    return origins.some(hasPasskeys)
  }

  #problemOf({ method, headers, headersDistinct }: IncomingMessage): CallError | undefined {
    const { origin: origins = [], 'sec-fetch-site': sites = ['same-origin'] } = headersDistinct
    if (headersDistinct[CONSOLE_HEADER]?.join() !== '1')
      return invalidArgument({ field: 'X-Portcullis-Console', expected: '1, as the page sends it' })
    if (sites.join() !== 'same-origin')
      return invalidArgument({ field: 'Sec-Fetch-Site', expected: 'same-origin' })
    const [origin, ...more] = origins
    // A browser sends none with a request that only reads.
    const isOurs =
      origin === undefined
        ? method === 'GET' || method === 'HEAD'
        : isOwnOrigin(origin, headers.host, this.#address)
    if (!isOurs || more.length > 0)
      return invalidArgument({ field: 'Origin', expected: 'the origin of the page' })
    return undefined
  }
}
