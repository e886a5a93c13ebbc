/** What PostgreSQL and the connection to it report, as errors of the directory. */
import { DatabaseError } from 'pg'
import { CallError, callError, invalidArgument } from '../base/call-error.ts'
import { AlreadyExists } from './database.ts'

const UNIQUE_VIOLATION = '23505'
/** A character that PostgreSQL's texts cannot hold; there is one, NUL. */
const CHARACTER_NOT_IN_REPERTOIRE = '22021'
const DISK_FULL = '53100'

/** SQLSTATE, where the server itself reported the error: the connection still holds then. */
export function serverCode(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined
}

/**
 * The error of a statement as the directory's. Of what the server says only the code is kept: its texts and details quote
 * parameters and whole rows, password hashes among them.
 */
export function translated(error: unknown): Error {
  const code = serverCode(error)
  if (code === UNIQUE_VIOLATION) return new AlreadyExists('a row of that name is there already')
  if (code === CHARACTER_NOT_IN_REPERTOIRE)
    return invalidArgument({ field: 'name', expected: 'a text without NUL characters' })
  const cause = new Error(`PostgreSQL: ${whyNot(error)}`)
  if (code === DISK_FULL) return callError('DIRECTORY_FULL', {}, { cause })
  // Too many connections, no memory.
  if (code?.startsWith('53')) return callError('DIRECTORY_EXHAUSTED', { what: 'questions' }, { cause })
  return callError('DIRECTORY_UNAVAILABLE', {}, { cause })
}

/** Why a directory cannot be opened, for whoever starts the sidecar. */
export function opening(error: unknown, key: string): Error {
  // What is wrong with the directory itself is said already.
  if (error instanceof Error && error.message.startsWith(`${key}: `)) return error
  const { cause } = error instanceof CallError ? error : translated(error)
  return new Error(
    `${key}: expected a directory that can be opened (${(cause as Error | undefined)?.message})`,
  )
}

const UNTRUSTED =
  'no authority that is trusted here has signed the certificate; sslrootcert=FILE names one that is'

/** What SQLSTATEs and the codes of Node mean. */
const WORDS: Readonly<Record<string, string>> = {
  '28000': 'the login is not accepted',
  '28P01': 'the password is not accepted',
  '3D000': 'there is no such database',
  '42501': 'a permission is missing',
  '53300': 'too many connections',
  '57014': 'the answer took too long',
  ECONNREFUSED: 'nobody listens there',
  ENOTFOUND: 'there is no such host',
  ERR_INVALID_URL: 'it is no URL',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
}

/** A code, or the text of an error that was raised on this side, which quotes nothing. */
function whyNot(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (typeof code !== 'string') return String(message)
  return WORDS[code] === undefined ? code : `${code}: ${WORDS[code]}`
}
