/**
 * Where a login waits for the check of its password, and the key by which its failures are counted. A user
 * who has logged in from there before comes first.
 */
import { hash } from 'node:crypto'
import type { Origin } from './authority.ts'
import { LazyLruCache } from './lazy-lru-cache.ts'
import { nameOfSource } from './login-source.ts'
import { canBeName } from './names.ts'
import type { LoginPlace } from './password.ts'

/** A login in progress. */
export interface PlacedLogin {
  /** By which names failed logins are counted. */
  readonly names: { readonly account: string; readonly userName: string }
  /** Name of the source. */
  readonly source: string
  readonly place: LoginPlace
  /** Keys of the pair of user and source, and of the pair on its connection. */
  readonly pair: string
  readonly connection: string
}

/**
 * Most pairs of user and source that are known to have logged in. The one that was used least recently is
 * forgotten first.
 */
const PROVEN_PAIRS_MAX = 100_000
const PROVEN = {}

export class KnownLogins {
  /** Pairs of user and source where the user has logged in, and those with a connection. */
  readonly #proven = new LazyLruCache<object>(PROVEN_PAIRS_MAX)

  /** @param login whom it names */
  placeOf(
    login: { readonly account: string; readonly userName: string },
    { source, connection = '' }: Pick<Origin, 'source' | 'connection'>,
  ): PlacedLogin {
    const names = { account: throttleName(login.account), userName: throttleName(login.userName) }
    const from = nameOfSource(source)
    const pair = JSON.stringify([names.account, names.userName, from])
    const onConnection = JSON.stringify([pair, connection])
    const isProven = (key: string) => this.#proven.get(key) !== undefined
    const lane = isProven(pair) ? 'proven' : 'logins'
    const place: LoginPlace = {
      lane: source.type === 'profiles' ? 'profiles' : lane,
      // Connections on which the user has logged in have half of the user's turns, however many others there
      // are.
      shares: [from, pair, isProven(onConnection) ? 'proven' : 'others', connection],
    }
    return { names, source: from, pair, connection: onConnection, place }
  }

  /** The login has succeeded. */
  remember({ pair, connection }: PlacedLogin): void {
    for (const proven of [pair, connection]) this.#proven.set(proven, PROVEN)
  }
}

/** The key of a name in the throttle. A text that cannot be a name is hashed, because it may be very long. */
function throttleName(name: string): string {
  return canBeName(name) ? name : hash('sha256', name, 'base64')
}
