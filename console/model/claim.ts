/** Claims of statements as a form has them: the fields of each type. */
import type { Claim, Matrix, ScopeLevel } from '../../engine/index.ts'

type ClaimType = Claim['type']

/** Every field of a claim. */
export interface ClaimDraft {
  readonly type: ClaimType
  readonly kind: string
  readonly kinds: readonly string[]
  readonly api: string
  readonly apis: readonly string[]
  readonly accepts: readonly string[]
  readonly complete: boolean
  readonly scopeLevel: ScopeLevel
  readonly holder: string
  readonly exclusive: boolean
  readonly text: string
}

type ClaimField = Exclude<keyof ClaimDraft, 'type'>

/** The fields of each type, in the order of a form. The most used types come first. */
export const FORM_FIELDS: Readonly<Record<ClaimType, readonly ClaimField[]>> = {
  manages: ['kind', 'apis', 'complete'],
  does_not_manage: ['kind', 'apis'],
  only_option: ['kind', 'apis'],
  most: ['kind'],
  bound_to: ['kind', 'scopeLevel'],
  issued_to: ['kinds', 'holder', 'exclusive'],
  row_repeated: ['api', 'accepts'],
  advice: ['kinds', 'holder', 'text'],
  remark: ['kinds'],
}

export const CLAIM_TYPES = Object.keys(FORM_FIELDS) as readonly ClaimType[]

/** The first content of a form. @param claim the one that is changed; absent: a new one */
export function draftOf({ tokenKinds, apis }: Matrix, claim?: Claim): ClaimDraft {
  const [kind] = tokenKinds
  return {
    ...{ type: 'manages', kind: kind?.id ?? '', kinds: [], api: apis[0]?.id ?? '', apis: [], accepts: [] },
    ...{
      complete: false,
      scopeLevel: 'account',
      holder: kind?.issuedTo ?? 'user',
      exclusive: false,
      text: '',
    },
    ...claim,
  }
}

/** The claim that a form says. The linter of the matrix refuses an empty or unknown value. */
export function claimOf(draft: ClaimDraft): Claim {
  const fields = FORM_FIELDS[draft.type].map((field) => [field, draft[field]])
  return { type: draft.type, ...Object.fromEntries(fields) } as Claim
}

/** The APIs and kinds that a claim is about. */
export function aboutOf(claim: Claim): readonly string[] {
  const { kind, kinds = [], api, apis = [] } = claim as Partial<ClaimDraft>
  return [...(kind === undefined ? [] : [kind]), ...kinds, ...(api === undefined ? [] : [api]), ...apis]
}
