/** One sentence for each reason: what is wrong, and what would be right. */
import { carriageOf } from './credentials.ts'
import type { CompiledApi } from './decision.ts'
import type { TokenKind } from './matrix.ts'
import type { Reason } from './reasons.ts'

/** What a message is about. An API or a kind that is not in the matrix is absent. */
export interface Subject {
  readonly kinds: readonly TokenKind[]
  readonly api?: CompiledApi | undefined
  readonly kind?: TokenKind | undefined
}

/** The sentence for a reason: lower case, no final period, ids in backticks. It never holds a credential. */
export function messageOf(reason: Reason, subject: Subject): string {
  const { kinds, api, kind } = subject
  const apiId = `\`${api?.id}\``
  const token = kind?.title ?? ''
  switch (reason) {
    case 'UNKNOWN_API':
      return 'the api id is not in the matrix'
    case 'CREDENTIAL_MISSING':
      return `no credential arrived; ${whatOpens(subject)}`
    case 'CREDENTIAL_AMBIGUOUS':
      return `more than one credential arrived; send one token, once, in ${oneOf(carriagesOf(kinds))}`
    case 'CREDENTIAL_MALFORMED':
      return `the credential is not a token: expected visible ASCII characters without spaces, within the length limit${behindScheme(kinds)}`
    case 'WRONG_HEADER':
      return `the token arrived in the header of another kind; send ${list(
        kinds.map((each) => `${withArticle(each.title)} in \`${carriageOf(each)}\``),
        'or',
      )}`
    case 'CREDENTIAL_INVALID':
      return 'no authority vouches for the credential; obtain a new one'
    case 'CREDENTIAL_EXPIRED':
      return 'the token is past its lifetime; obtain a new one'
    case 'CREDENTIAL_REVOKED':
      return 'the token was revoked, or its holder, their password or their permission has changed; obtain a new one'
    case 'ADDRESS_NOT_ALLOWED':
      return 'the account restricts client addresses, and this one is not among those allowed'
    case 'UNKNOWN_TOKEN_KIND':
      return `the token kind is not in the matrix; expected ${oneOf(kinds.map((each) => `\`${each.id}\``))}`
    case 'INVALID_SCOPE':
      return kind?.scopeLevel === 'project'
        ? `the scope does not fit ${withArticle(token)}: expected an account and a project`
        : `the scope does not fit ${withArticle(token)}: expected an account and no project`
    case 'TOKEN_KIND_NOT_ACCEPTED':
      return `${apiId} does not accept ${withArticle(token)}; ${whatOpens(subject, 'it')}`
    case 'CONTESTED':
      return `strict mode: the source contradicts itself on whether ${apiId} accepts ${withArticle(token)}; ${whatOpens(subject, 'without doubt it')}`
    case 'ACCOUNT_MISMATCH':
      return `the target of ${apiId} belongs to another account than the token, or to none`
    case 'PROJECT_MISMATCH':
      return `the token is bound to one project, and the target of ${apiId} is in another or in none`
    case 'ALLOWED':
      return `${apiId} accepts ${withArticle(token)} in \`${kind && carriageOf(kind)}\``
  }
}

/** Which kinds open the API. `it` names the API in the sentence; without it, the id does. */
function whatOpens({ kinds, api }: Subject, it = `\`${api?.id}\``): string {
  const accepted = (api?.accepted ?? []).flatMap(({ kind }) => {
    const known = kinds.find((each) => each.id === kind)
    return known === undefined ? [] : [`${withArticle(known.title)} in \`${carriageOf(known)}\``]
  })
  return accepted.length > 0
    ? `${it} accepts ${list(accepted, 'or')}`
    : `no kind of token opens \`${api?.id}\``
}

/** Where tokens of these kinds belong, each place once. */
function carriagesOf(kinds: readonly TokenKind[]): readonly string[] {
  return [...new Set(kinds.map((each) => `\`${carriageOf(each)}\``))]
}

/** What else is expected where tokens have a scheme before them. */
function behindScheme(kinds: readonly TokenKind[]): string {
  const withScheme = kinds.filter(({ scheme }) => scheme !== undefined)
  return withScheme.length === 0 ? '' : `, after its scheme as in ${oneOf(carriagesOf(withScheme))}`
}

function oneOf(items: readonly string[]): string {
  return list(items, 'or')
}

function list(items: readonly string[], word: string): string {
  if (items.length < 2) return items.join('')
  return `${items.slice(0, -1).join(', ')} ${word} ${items.at(-1)}`
}

/** The title of a kind with its indefinite article, for a sentence: "an account-scoped IAM token". */
export function withArticle(title: string): string {
  return `${/^[aeiou]/i.test(title) ? 'an' : 'a'} ${title}`
}
