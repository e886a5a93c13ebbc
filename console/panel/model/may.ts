/**
 * The rights on the pages of IAM, so that a button says why before it is pressed. The sidecar
 * decides for each call; what is said here is what `sidecar/usecases/administration/` has as the need and the
 * owner's rule of its operations.
 */
import type { Who } from './wire.ts'

/**
 * - `read`: this operator may look, and change nothing
 * - `owners`: for owners alone
 * - `inviters`: for the owner, `iam.admin` and operators with the right `everything`
 * - `operators`: for operators alone
 * - `self`: they would do it to themselves
 */
export type Why = 'read' | 'owners' | 'inviters' | 'operators' | 'self'

/** @returns `undefined`: they may change all that is not reserved for others */
export function whyNoChange(who: Who, account: string): Why | undefined {
  if (who.type === 'user') return undefined
  return who.rights.everything || who.rights.administer.includes(account) ? undefined : 'read'
}

/** Whether the user may do what is reserved for owners: make one, change one, and the access limits. */
export function whyNotAsOwner(who: Who, account: string): Why | undefined {
  return whyNoChange(who, account) ?? (who.type === 'user' && !who.owner ? 'owners' : undefined)
}

export function whyNoUserChange(
  who: Who,
  account: string,
  { owner }: { readonly owner: boolean },
): Why | undefined {
  return owner ? whyNotAsOwner(who, account) : whyNoChange(who, account)
}

/** An invitation is a credential of its user. */
export function whyNoInvitation(
  who: Who,
  account: string,
  user: { readonly name: string; readonly owner: boolean },
): Why | undefined {
  if (who.type === 'operator' && !who.rights.everything) return 'inviters'
  if (who.type === 'user' && who.name === user.name) return 'self'
  return whyNoUserChange(who, account, user)
}

/** A user who can log in as a validator sees tokens of every account. */
export function whyNoLogin(
  who: Who,
  account: string,
  { validator }: { readonly validator: boolean },
): Why | undefined {
  return whyNoChange(who, account) ?? (validator && who.type === 'user' ? 'operators' : undefined)
}
