/**
 * Commands to copy. What a matrix brings into them is quoted for a shell; what only the reader knows is a
 * variable or a placeholder.
 */
import { buildIssuanceBody, type TokenKind } from '../../engine/index.ts'

/**
 * The request to a product API with a token of a kind (§5.2). The source does not show the paths of the APIs.
 */
export function requestCommand({ header }: Pick<TokenKind, 'header'>): string {
  return `curl -H ${headerArgument(header)} "$BASE_URL"`
}

/**
 * The request for a token of a kind (§4.1); `undefined` where a person creates it in the control panel
 * (§4.2).
 */
export function loginCommand({ obtained, scopeLevel }: TokenKind): string | undefined {
  if (obtained.by !== 'issue') return undefined
  const account = '<account_id>'
  const scope = scopeLevel === 'project' ? { account, project: '<project_name>' } : { account }
  const body = buildIssuanceBody({ userName: '<username>', account, password: '<password>', scope })
  return [
    `curl -i "$AUTH_URL/identity/v3/auth/tokens" -H 'Content-Type: application/json' -d @- <<'JSON'`,
    JSON.stringify(body, undefined, 2),
    'JSON',
  ].join('\n')
}

/** Asks a sidecar about a token in a file, which the list of processes does not show. */
export function checkCommand(api: string): string {
  return `npx portcullis check ${quoted(api)} -H @token.txt`
}

/**
 * The request with a token that is known here. It comes by standard input, because the list of processes
 * shows arguments.
 */
export function requestWith(header: string, value: string): string {
  return `echo ${quoted(`${header}: ${value}`)} | curl -H @- "$BASE_URL"`
}

/** Asks a sidecar about a token that is known here. */
export function checkWith(api: string, header: string, value: string): string {
  return `echo ${quoted(`${header}: ${value}`)} | npx portcullis check ${quoted(api)} -H -`
}

/** Obtains a token of a kind through a sidecar. */
export function issueCommand(
  { obtained, scopeLevel }: TokenKind,
  apis: readonly string[],
): string | undefined {
  if (obtained.by !== 'issue') return undefined
  const project = scopeLevel === 'project' ? ` --project ${quoted('<project_name>')}` : ''
  const wanted = apis.map((api) => ` --api ${quoted(api)}`).join('')
  return `npx portcullis issue --account ${quoted('<account_id>')} --user ${quoted('<username>')} --password-file password.txt${project}${wanted}`
}

export function planCommand(apis: readonly string[], strict: boolean): string {
  return `npx portcullis plan ${apis.map(quoted).join(' ')}${strict ? ' --strict' : ''}`
}

/** The header with a token from a variable. */
function headerArgument(header: string): string {
  return isPlain(header) ? `"${header}: $TOKEN"` : `${quoted(`${header}: `)}"$TOKEN"`
}

/** A word that a shell takes as it is. */
export function quoted(word: string): string {
  return isPlain(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

const isPlain = (word: string): boolean => /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(word)
