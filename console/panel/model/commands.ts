/**
 * Commands that obtain a token with a new password. The password is in none of them: they read the file that
 * it was saved in.
 */
import { loginRequest, PORTCULLIS, quoted } from '../../model/shell.ts'

export interface NewLogin {
  readonly account: string
  readonly user: string
  /** Name of a project; absent: a token for the account. */
  readonly project?: string | undefined
  /** Name of the file with the password. */
  readonly file: string
}

/** A file name for any disk. Two users may share one: it is only what the browser proposes. */
export function passwordFile(user: string): string {
  const plain = user.replaceAll(/[^A-Za-z0-9_-]+/g, '-').replaceAll(/^-+|-+$/g, '')
  return `${plain.slice(0, 60) || 'service-user'}-password.txt`
}

/** Through a sidecar at its usual address. */
export function issueWith({ account, user, project, file }: NewLogin): string {
  const parts = [`${PORTCULLIS} issue`, '--account', quoted(account), '--user', quoted(user)]
  if (project !== undefined) parts.push('--project', quoted(project))
  return [...parts, '--password-file', file].join(' ')
}

/** The request of §4.1. @param origin of the identity endpoint, which is that of the page */
export function curlWith({ account, user, project, file }: NewLogin, origin: string): string {
  const scope = project === undefined ? { account } : { account, project }
  const url = quoted(`${origin}/identity/v3/auth/tokens`)
  return loginRequest(url, { userName: user, account, scope, passwordFile: file })
}
