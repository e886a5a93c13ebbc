/** The factors of a control panel user, as the page of security shows it. */
import { texts as shared } from '../../texts/en/panel.ts'
import { texts } from '../../texts/en/profile.ts'
import { faultOf, type Holder } from './passwords.ts'
import type { Factors } from './wire.ts'

/** The properties of the parts of the page of security. */
export interface FactorsProps {
  readonly factors: Factors
  readonly reload: () => Promise<void>
}

/** A way to log in. */
export type WayIn = 'password' | 'code' | 'passkey'

/**
 * Every way to log in, the best first. `code` is the password with a one-time code. Empty: there is none but
 * a link or an invitation.
 */
export function waysIn({ password, code, passkeys }: Factors): readonly WayIn[] {
  const ways: WayIn[] = passkeys.length > 0 ? ['passkey'] : []
  if (password !== null && code !== null) ways.push('code')
  // With a second factor the password alone is not enough.
  if (password !== null && code === null && passkeys.length === 0) ways.push('password')
  return ways
}

/** Most passkeys of a user. */
export const PASSKEYS_MAX = 20

/** Six digits, however they were typed; `undefined`: it is not a code. */
export function codeOf(typed: string): string | undefined {
  const digits = typed.replaceAll(/[\s-]/g, '')
  return /^\d{6}$/.test(digits) ? digits : undefined
}

/** The secret of a code in groups that are easy to type. */
export function grouped(secret: string): string {
  return secret.replaceAll(/(.{4})(?=.)/g, '$1 ')
}

/**
 * The address at which browsers have passkeys, where this one has none; `undefined`: only the operator of the
 * sidecar knows it.
 */
export function passkeyAddress(at: {
  readonly protocol: string
  readonly hostname: string
  readonly port: string
  readonly pathname: string
  readonly hash: string
}): string | undefined {
  const { protocol, hostname, port, pathname, hash } = at
  if (!/^127\.\d+\.\d+\.\d+$|^\[::1\]$/.test(hostname)) return undefined
  return `${protocol}//localhost${port === '' ? '' : `:${port}`}${pathname}${hash}`
}

interface PasswordValues {
  readonly current: string
  readonly password: string
  /** The password once more. */
  readonly again: string
}

/** The faults of a new password, by field. @param isNew there is none yet */
export function passwordFaults({ current, password, again }: PasswordValues, holder: Holder, isNew: boolean) {
  const { wrong, same, differs } = texts.security.password
  const fault = faultOf(password, holder)
  const isSame = !isNew && password === current
  return {
    current: !isNew && current === '' ? wrong : undefined,
    password: fault === undefined ? (isSame ? same : undefined) : shared.password.faults[fault],
    again: fault === undefined && again !== password ? differs : undefined,
  }
}
