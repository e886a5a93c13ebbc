/** Whom IAM tokens name as their issuer and their audience. */

/** `tokens` of the configuration. */
export interface TokensConfig {
  readonly issuer?: string
  readonly audience?: string
  readonly accepted_issuers?: readonly string[]
  readonly accepted_audiences?: readonly string[]
}

/** The same in the words of the authority. */
export function tokenNamesOf(tokens: TokensConfig) {
  const { issuer, audience, accepted_issuers: acceptedIssuers = [] } = tokens
  return { issuer, audience, acceptedIssuers, acceptedAudiences: tokens.accepted_audiences ?? [] }
}
