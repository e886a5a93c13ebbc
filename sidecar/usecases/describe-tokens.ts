/** The directory's facts about tokens, for a sidecar that follows this one. */
import type { DescribedToken, TokenDescriber } from '../authority/authority.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Secret } from '../base/secret.ts'
import type { Admitting, Deciding } from './capabilities.ts'

export interface Describing extends Deciding {
  readonly authority: TokenDescriber
}

/** Tokens of a call that wait for the directory at the same time, and for how long others wait for it. */
const WAITING_MAX = 32
const SLICE_MS = 0.25

/**
 * Tokens of upstreams are not known to the directory. Others have their turn between some tokens and the
 * next.
 *
 * @returns one for each token; `undefined`: it is not genuine
 * @throws CallError if the directory does not answer
 */
export async function describeTokens(
  { engine, authority, turns }: Describing & Pick<Admitting, 'turns'>,
  tokens: readonly Secret[],
  connection: object,
): Promise<(DescribedToken | undefined)[]> {
  const describe = (token: Secret) => authority.describe(token.reveal(), engine.tokenKinds, connection)
  const found: (DescribedToken | undefined)[] = []
  while (found.length < tokens.length) {
    const next = tokens.slice(found.length)
    const some = await turns.run(connection, () => inSlice(next, describe), found.length > 0)
    found.push(...(await Promise.all(some)))
  }
  return found
}

/** The results of the first tokens, as far as the slice goes. */
function inSlice<T>(
  tokens: readonly Secret[],
  describe: (token: Secret) => MaybePromise<T>,
): MaybePromise<T>[] {
  const endsMs = performance.now() + SLICE_MS
  const results: MaybePromise<T>[] = []
  let waiting = 0
  for (const token of tokens) {
    const result = describe(token)
    if (result instanceof Promise) waiting++
    results.push(result)
    if (waiting >= WAITING_MAX || performance.now() >= endsMs) break
  }
  return results
}
