/** Translates errors of PostgreSQL and of the connection to it into errors of the directory. */
import { DatabaseError } from 'pg'
import { CallError, callError, invalidArgument } from '../base/call-error.ts'
import { isOutOfRange } from './column-ranges.ts'
import { AlreadyExists } from './database.ts'

const UNIQUE_VIOLATION = '23505'
/** A text contains a character that PostgreSQL cannot store. The only one is NUL. */
const CHARACTER_NOT_IN_REPERTOIRE = '22021'
const DISK_FULL = '53100'

/** The SQLSTATE if the server reported the error; `undefined` if the connection failed. */
export function serverCode(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined
}

/**
 * Translates the error of a statement. It keeps only the server's code: the server's texts and details quote
 * parameters and whole rows, which contain password hashes.
 */
export function toDirectoryError(error: unknown): Error {
  if (error instanceof CallError) return error
  const code = serverCode(error)
  if (code === UNIQUE_VIOLATION) return new AlreadyExists('a row with that name already exists')
  if (code === CHARACTER_NOT_IN_REPERTOIRE)
    return invalidArgument({ field: 'name', expected: 'a text without NUL characters' })
  const cause = isOutOfRange(error) ? error : new Error(`PostgreSQL: ${explain(error)}`)
  if (code === DISK_FULL) return callError('DIRECTORY_FULL', {}, { cause })
  // Class 53: insufficient resources, for example too many connections or no memory.
  if (code?.startsWith('53')) return callError('DIRECTORY_EXHAUSTED', { what: 'queries' }, { cause })
  return callError('DIRECTORY_UNAVAILABLE', {}, { cause })
}

/** Explains why the directory cannot be opened. The message is for the person who starts the sidecar. */
export function toOpenError(error: unknown, key: string): Error {
  // The error already explains what is wrong with the directory itself.
  if (error instanceof Error && error.message.startsWith(`${key}: `)) return error
  const failure = error instanceof CallError ? error : toDirectoryError(error)
  const { message } = (failure.cause ?? failure) as Error
  return new Error(`${key}: expected a directory that can be opened (${message})`)
}

const UNTRUSTED =
  'no trusted authority signed the certificate; add sslrootcert=FILE to the URL to trust the authority of that file'

/** The meaning of SQLSTATEs and of error codes of Node. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  '28000': 'the login is not accepted',
  '28P01': 'the password is not accepted, or the client certificate is for another user',
  '3D000': 'there is no such database',
  '42501': 'a permission is missing',
  '53300': 'too many connections',
  '57014': 'the answer took too long',
  ECONNREFUSED: 'nothing listens on that address',
  ENOTFOUND: 'there is no such host',
  ERR_INVALID_URL: 'it is not a URL',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
}

/**
 * The error's code with its meaning. An error without a code comes from this side and quotes no values, so
 * its text is used.
 */
function explain(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (typeof code !== 'string') return String(message)
  return EXPLANATIONS[code] === undefined ? code : `${code}: ${EXPLANATIONS[code]}`
}
