/** A token as the text of a file, or of standard output. */
import type { IssuedToken } from '../../../clients/typescript/index.ts'
import type { TokenFormat } from '../../config/agent-config.ts'

/**
 * The text, with a line break at the end.
 *
 * @throws Error if the token has other characters than a header can carry
 */
export function formatToken(format: TokenFormat, issued: IssuedToken): string {
  const { header, headerValue, value } = issued
  // An upstream may issue what it likes. A line break would be another header, or another variable.
  if (!/^[\x21-\x7e]+$/.test(value)) throw new Error('expected a token of visible ASCII characters')
  switch (format) {
    case 'value':
      return `${value}\n`
    case 'header':
      return `${header}: ${headerValue}\n`
    case 'json':
      return `${JSON.stringify(tokenJson(issued))}\n`
    case 'exec-credential':
      return `${JSON.stringify(execCredential(issued))}\n`
    case 'env':
      return environmentLines(issued)
  }
}

function tokenJson({
  header,
  scheme,
  basic,
  value,
  kind,
  scope,
  tokenId,
  issuedAt,
  expiresAt,
}: IssuedToken): object {
  return {
    header,
    ...(scheme !== '' && { scheme }),
    basic,
    value,
    kind,
    scope,
    token_id: tokenId,
    issued_at: issuedAt?.toISOString(),
    expires_at: expiresAt?.toISOString(),
  }
}

/** The credential that a Kubernetes client takes from a credential plugin. */
function execCredential({ value, expiresAt }: IssuedToken): object {
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: {
      token: value,
      // Without fractions, as Kubernetes writes times.
      ...(expiresAt && { expirationTimestamp: expiresAt.toISOString().replace(/\.\d+Z$/, 'Z') }),
    },
  }
}

/** For a shell (`. FILE`), and for `EnvironmentFile` of systemd. */
function environmentLines({ header, scheme, basic, value, expiresAt }: IssuedToken): string {
  const variables = {
    PORTCULLIS_TOKEN: value,
    PORTCULLIS_TOKEN_HEADER: header,
    ...(scheme !== '' && { PORTCULLIS_TOKEN_SCHEME: scheme }),
    ...(basic !== undefined && { PORTCULLIS_TOKEN_BASIC: basic }),
    ...(expiresAt && { PORTCULLIS_TOKEN_EXPIRES_AT: expiresAt.toISOString() }),
  }
  return Object.entries(variables)
    .map(([name, text]) => `${name}=${quoted(text)}\n`)
    .join('')
}

/** @throws Error if the two readers would not agree on the text */
function quoted(text: string): string {
  if (/^[\w.:/+=@,%~-]*$/.test(text)) return text
  if (/['\\]/.test(text)) throw new Error('expected a token without quotes and backslashes in format env')
  return `'${text}'`
}
