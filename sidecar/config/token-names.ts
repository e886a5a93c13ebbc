/** Whom IAM tokens name as their issuer and their audience. */
import type { ConfigKeys } from './gen/config-keys.ts'

/** `tokens` of the configuration, in the words of the authority. */
export function tokenNamesOf(tokens: NonNullable<ConfigKeys['tokens']>) {
  const { issuer, audience, accepted_issuers: acceptedIssuers = [] } = tokens
  return { issuer, audience, acceptedIssuers, acceptedAudiences: tokens.accepted_audiences ?? [] }
}
