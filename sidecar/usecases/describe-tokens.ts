/** The directory's facts about tokens, for a sidecar that follows this one. */
import type { DescribedToken, TokenDescriber } from '../authority/authority.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Secret } from '../base/secret.ts'
import type { Deciding } from './capabilities.ts'

export interface Describing extends Deciding {
  readonly authority: TokenDescriber
}

/**
 * Tokens of upstreams are not known to the directory.
 *
 * @returns one for each token; `undefined`: it is not genuine
 * @throws CallError if the directory does not answer
 */
export function describeTokens(
  { engine, authority }: Describing,
  tokens: readonly Secret[],
  connection: object,
): MaybePromise<(DescribedToken | undefined)[]> {
  const found = tokens.map((token) => authority.describe(token.reveal(), engine.tokenKinds, connection))
  return found.some((each) => each instanceof Promise)
    ? Promise.all(found)
    : (found as (DescribedToken | undefined)[])
}
