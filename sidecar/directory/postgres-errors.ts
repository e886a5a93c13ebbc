/** What PostgreSQL and the connection to it report, as errors of the directory. */
import { DatabaseError } from 'pg'
import { invalidArgument, NoAnswer } from '../errors.ts'
import { AlreadyThere } from './database.ts'

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
  if (code === UNIQUE_VIOLATION) return new AlreadyThere('a row of that name is there already')
  if (code === CHARACTER_NOT_IN_REPERTOIRE)
    return invalidArgument({ field: 'name', expected: 'a text without NUL characters' })
  const cause = new Error(`PostgreSQL: ${whyNot(error)}`)
  if (code === DISK_FULL)
    return new NoAnswer('RESOURCE_EXHAUSTED', 'the directory has no room', {
      reason: 'DIRECTORY_FULL',
      cause,
    })
  // Too many connections, no memory.
  if (code?.startsWith('53'))
    return new NoAnswer('RESOURCE_EXHAUSTED', 'the directory takes no more questions now; try again later', {
      reason: 'DIRECTORY_EXHAUSTED',
      cause,
    })
  return new NoAnswer('UNAVAILABLE', 'the directory does not answer', {
    reason: 'DIRECTORY_UNAVAILABLE',
    cause,
  })
}

/** Why a directory cannot be opened, for whoever starts the sidecar. */
export function opening(error: unknown, key: string): Error {
  // What is wrong with the directory itself is said already.
  if (error instanceof Error && error.message.startsWith(`${key}: `)) return error
  const { cause } = error instanceof NoAnswer ? error : translated(error)
  return new Error(
    `${key}: expected a directory that can be opened (${(cause as Error | undefined)?.message})`,
  )
}

const WORDS: Readonly<Record<string, string>> = {
  '28000': 'the login is not accepted',
  '28P01': 'the password is not accepted',
  '3D000': 'there is no such database',
  '42501': 'a permission is missing',
  '53300': 'too many connections',
  '57014': 'the answer took too long',
}

/** A code, or the text of an error that was raised on this side, which quotes nothing. */
function whyNot(error: unknown): string {
  const code = serverCode(error)
  if (code !== undefined) return WORDS[code] === undefined ? code : `${code}: ${WORDS[code]}`
  const { code: name, message } = error as { code?: unknown; message?: unknown }
  return typeof name === 'string' ? name : String(message)
}
