/**
 * The faults of a new password, and how good it is. The sidecar decides; the page says it while one types.
 */

const PASSWORD_LENGTH_MIN = 12
const PASSWORD_LENGTH_MAX = 1_024

export type PasswordFault = 'short' | 'long' | 'repeated' | 'account' | 'name'

export interface Holder {
  readonly account: string
  readonly user: string
}

/** @returns `undefined`: it can be used */
export function faultOf(password: string, { account, user }: Holder): PasswordFault | undefined {
  const characters = [...password]
  if (characters.length < PASSWORD_LENGTH_MIN) return 'short'
  if (characters.length > PASSWORD_LENGTH_MAX) return 'long'
  if (new Set(characters).size === 1) return 'repeated'
  const lower = password.toLowerCase()
  if (account !== '' && lower.includes(account.toLowerCase())) return 'account'
  if (user !== '' && lower.includes(user.toLowerCase())) return 'name'
  return undefined
}

export type Strength = 'weak' | 'fair' | 'good'

/** A rough word for people. Length counts most: a sentence is better than a short word with signs. */
export function strengthOf(password: string): Strength {
  const characters = [...password]
  const different = new Set(characters).size
  const kinds = [/\p{Ll}/u, /\p{Lu}/u, /\p{N}/u, /[^\p{L}\p{N}]/u].filter((kind) =>
    kind.test(password),
  ).length
  const points = Math.min(characters.length, 2 * different) + 2 * (kinds - 1)
  if (points >= 20) return 'good'
  return points >= 14 ? 'fair' : 'weak'
}
