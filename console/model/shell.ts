/**
 * Commands to copy. Values of a matrix are quoted for a shell; a value that only the reader knows is a
 * variable or a placeholder.
 */
import {
  buildIssuanceBody,
  type Carried,
  carriageOf,
  fieldValue,
  firstPlace,
  schemeOf,
  type TokenKind,
} from '../../engine/index.ts'

export type { Carried }

/** Where a token belongs, for people: `Authorization: Bearer`. */
export function placeText(kind: Carried): string {
  return carriageOf({ ...firstPlace(kind), prefix: undefined })
}

/**
 * The command line: of the checkout, of a package in the project or of the machine. Where there is none, npx
 * must not fetch a package that a stranger may have published under the name.
 */
export const PORTCULLIS = 'npx --no-install portcullis'

/**
 * Reads a token into a variable of the shell, for the commands that use it. It is a separate command:
 * `read` takes the next line that is pasted.
 */
export const READ_TOKEN = 'read -rs TOKEN'

/**
 * The request to a product API with a token of a kind (§5.2). The source does not show the paths of the APIs.
 * The token comes by standard input, because the list of processes shows arguments.
 */
export function requestCommand(kind: Carried): string {
  return `echo ${headerArgument(kind)} | curl -H @- "$BASE_URL"`
}

/** Asks a sidecar about the token in the variable. */
export function checkVariable(api: string, kind: Carried): string {
  return `echo ${headerArgument(kind)} | ${PORTCULLIS} check ${quoted(api)} -H -`
}

/**
 * The request for a token of a kind (§4.1); `undefined` where a person creates it in the control panel
 * (§4.2).
 */
export function loginCommand({ obtained, scopeLevel }: TokenKind): string | undefined {
  if (obtained.by !== 'issue') return undefined
  const account = '<account_id>'
  const scope = scopeLevel === 'project' ? { account, project: '<project_name>' } : { account }
  return loginRequest('"$AUTH_URL/identity/v3/auth/tokens"', {
    ...{ userName: '<username>', account, scope, passwordFile: 'password.txt', indent: 2 },
  })
}

interface LoginRequest {
  readonly userName: string
  readonly account: string
  readonly scope: { readonly account: string; readonly project?: string }
  /** Its first line is the password. The name needs no quotes. */
  readonly passwordFile: string
  /** For a reader who fills something in; absent: it is one line. */
  readonly indent?: number
}

/** Stands for the password until the text is one of a shell. No JSON string has it. */
const PASSWORD = '\u0000'

/** The request of §4.1 with the password from a file. @param url as the shell takes it */
export function loginRequest(url: string, { passwordFile, indent, ...login }: LoginRequest): string {
  const body = JSON.stringify(buildIssuanceBody({ ...login, password: PASSWORD }), undefined, indent)
  // In this document a shell expands `$`, backticks and backslashes, which is wanted for the password alone.
  const escaped = body
    .replaceAll(/[\\$`]/g, (character) => `\\${character}`)
    .replace('\\\\u0000', () => `$(sed 's/["\\\\]/\\\\&/g;q' ${passwordFile})`)
  return [`curl -i ${url} -H 'Content-Type: application/json' -d @- <<JSON`, escaped, 'JSON'].join('\n')
}

/** Asks a sidecar about a token in a file, which the list of processes does not show. */
export function checkCommand(api: string): string {
  return `${PORTCULLIS} check ${quoted(api)} -H @token.txt`
}

/** Obtains a token of a kind through a sidecar. */
export function issueCommand(
  { obtained, scopeLevel }: TokenKind,
  apis: readonly string[],
): string | undefined {
  if (obtained.by !== 'issue') return undefined
  const project = scopeLevel === 'project' ? ` --project ${quoted('<project_name>')}` : ''
  const wanted = apis.map((api) => ` --api ${quoted(api)}`).join('')
  return `${PORTCULLIS} issue --account ${quoted('<account_id>')} --user ${quoted('<username>')} --password-file password.txt${project}${wanted}`
}

export function planCommand(apis: readonly string[], strict: boolean): string {
  return `${PORTCULLIS} plan ${apis.map(quoted).join(' ')}${strict ? ' --strict' : ''}`
}

/** The header with a token from a variable. */
function headerArgument(kind: Carried): string {
  const place = firstPlace(kind)
  const { header, basic } = place
  const scheme = schemeOf(place)
  if (basic !== undefined)
    return `"${header}: ${scheme} $(printf ${basic === 'user' ? "'%s:'" : "':%s'"} "$TOKEN" | base64 -w0)"`
  const before = fieldValue(place, '')
  return isPlain(`${header}${scheme}`)
    ? `"${header}: ${before}$TOKEN"`
    : `${quoted(`${header}: ${before}`)}"$TOKEN"`
}

/** A word that a shell takes as it is. */
export function quoted(word: string): string {
  return isPlain(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

const isPlain = (word: string): boolean => /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(word)
