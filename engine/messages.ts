/** One sentence for each reason: what is wrong, and what would be right. */
import type { CompiledApi } from './decision.ts'
import type { TokenKind } from './matrix.ts'
import { type Carried, carriageOf, placesAlone, placesOf, schemeOf } from './places.ts'
import type { CredentialReason, Reason } from './reasons.ts'

/** The question that a message is about. */
export interface Subject {
  readonly kinds: readonly TokenKind[]
  /** Absent where it is not in the matrix, which is the reason then. */
  readonly api?: CompiledApi | undefined
  /** Absent where the reason comes before the question whether the kind opens the API. */
  readonly kind?: TokenKind | undefined
}

/** The reasons with a kind to speak of. */
type ReasonAboutKind = Exclude<Reason, 'UNKNOWN_API' | 'UNKNOWN_TOKEN_KIND' | CredentialReason>

/** The reasons where it does not matter which kind a token has, or whether there is one. */
type ReasonWithoutKind = CredentialReason | 'UNKNOWN_TOKEN_KIND' | 'ALLOWED'

/** The sentence for a reason: lower case, no final period, ids in backticks. It never holds a credential. */
export function messageOf(reason: Reason, { kinds, api, kind }: Subject): string {
  if (api === undefined) return 'the api id is not in the matrix'
  return kind === undefined
    ? aboutCredential(reason as ReasonWithoutKind, kinds, api)
    : aboutKind(reason as ReasonAboutKind, kinds, api, kind)
}

function aboutCredential(reason: ReasonWithoutKind, kinds: readonly TokenKind[], api: CompiledApi): string {
  switch (reason) {
    case 'CREDENTIAL_MISSING':
      return `no credential arrived; ${whatOpens(kinds, api)}`
    case 'CREDENTIAL_AMBIGUOUS':
      return `more than one credential arrived; send one token, once, in ${oneOf(carriagesOf(kinds))}`
    case 'CREDENTIAL_MALFORMED':
      return `the credential is not a token: expected visible ASCII characters without spaces${behindScheme(kinds)}${withCompanion(kinds)}`
    case 'WRONG_HEADER':
      return `the token arrived in the header of another kind; send ${oneOf(kinds.map(withCarriage))}`
    case 'CREDENTIAL_INVALID':
      return 'no authority verified the credential; obtain a new one'
    case 'CREDENTIAL_EXPIRED':
      return 'the token is past its lifetime; obtain a new one'
    case 'CREDENTIAL_REVOKED':
      return 'the token was revoked, or its holder, their password or their permission has changed; obtain a new one'
    case 'ADDRESS_NOT_ALLOWED':
      return 'the account restricts client addresses, and this one is not among those allowed'
    case 'UNKNOWN_TOKEN_KIND':
      return `the token kind is not in the matrix; expected ${oneOf(kinds.map((each) => `\`${each.id}\``))}`
    case 'ALLOWED':
      return `\`${api.id}\` needs no token`
  }
}

function aboutKind(
  reason: ReasonAboutKind,
  kinds: readonly TokenKind[],
  api: CompiledApi,
  kind: TokenKind,
): string {
  const apiId = `\`${api.id}\``
  const token = withArticle(kind.title)
  switch (reason) {
    case 'INVALID_SCOPE':
      return `the scope does not fit ${token}: expected an account and ${kind.scopeLevel === 'project' ? 'a' : 'no'} project`
    case 'TOKEN_KIND_NOT_ACCEPTED':
      return `${apiId} does not accept ${token}; ${whatOpens(kinds, api, 'it')}`
    case 'CONTESTED':
      return `strict mode: the source contradicts itself on whether ${apiId} accepts ${token}; ${whatOpens(kinds, api, 'without doubt it')}`
    case 'ACCOUNT_MISMATCH':
      return `the target of ${apiId} belongs to another account than the token, or to none`
    case 'PROJECT_MISMATCH':
      return `the token is bound to one project, and the target of ${apiId} is in another or in none`
    case 'ALLOWED':
      return `${apiId} accepts ${withCarriage(kind)}`
  }
}

/** The kinds that open the API. `it` names the API in the sentence; without it, the id does. */
function whatOpens(kinds: readonly TokenKind[], api: CompiledApi, it = `\`${api.id}\``): string {
  const opening = kinds.filter(({ id }) => api.accepted.some(({ kind }) => kind === id))
  return opening.length > 0
    ? `${it} accepts ${oneOf(opening.map(withCarriage))}`
    : `no kind of token opens \`${api.id}\``
}

/** A token of the kind and where it belongs, for a sentence: "a static token in `X-Token`". */
export function withCarriage(kind: TokenKind): string {
  return `${withArticle(kind.title)} in ${oneOf(carriagesOf([kind]))}`
}

/** The places that a token of the kind can be asked for in, for a sentence that expects one of them. */
export function placesExpected(kind: TokenKind): string {
  const places = oneOf(carriagesOf(placesAlone(kind)))
  return `a place of ${withArticle(kind.title)} that needs no other header: ${places}`
}

/** Where tokens of these kinds belong, each place once. */
function carriagesOf(kinds: readonly Carried[]): readonly string[] {
  return [...new Set(kinds.flatMap(placesOf).map((place) => `\`${carriageOf(place)}\``))]
}

/** The further expectation where tokens have a scheme before them. */
function behindScheme(kinds: readonly TokenKind[]): string {
  const withScheme = kinds.flatMap(placesOf).filter((place) => schemeOf(place) !== '')
  return withScheme.length === 0 ? '' : `, after its scheme as in ${oneOf(carriagesOf(withScheme))}`
}

/** The further expectation where a header must come with tokens. */
function withCompanion(kinds: readonly TokenKind[]): string {
  const inTwo = kinds.flatMap(placesOf).filter((place) => place.with !== undefined)
  return inTwo.length === 0 ? '' : `, with the other header as in ${oneOf(carriagesOf(inTwo))}`
}

function oneOf(items: readonly string[]): string {
  // Fewer have nothing between them.
  if (items.length < 2) return items.join()
  return `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`
}

/** The title of a kind with its indefinite article, for a sentence: "an account-scoped IAM token". */
export function withArticle(title: string): string {
  return `${/^(?!us|uni|eu|one)[aeiou]/i.test(title) ? 'an' : 'a'} ${title}`
}
