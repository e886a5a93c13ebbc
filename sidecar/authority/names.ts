/** The rules for names of records: their length and their characters. */
import { invalidArgument } from '../base/call-error.ts'
import { isName, NAME_EXPECTED, NAME_LENGTH_MAX } from '../base/name.ts'

/**
 * Whether some record can have this name. Stores are never queried for other texts, because some stores fail
 * on them. Records of earlier versions can have names that no new record gets (`checkName`); they are found,
 * changed and deleted like others.
 */
export function canBeName(text: string): boolean {
  return (
    text.length >= 1 &&
    text.length <= NAME_LENGTH_MAX &&
    !/[\u0000-\u001f\u007f]/.test(text) &&
    text.isWellFormed()
  )
}

/**
 * @param field the field of the request, for the error
 * @throws CallError if a new record cannot have this name
 */
export function checkName(field: string, name: string): void {
  if (!isName(name))
    throw invalidArgument({
      field,
      expected: `a name of 1 to ${NAME_LENGTH_MAX} characters ${NAME_EXPECTED}`,
    })
}

/**
 * A text about something, which may be empty.
 *
 * @param field the field of the request, for the error
 * @throws CallError if a new record cannot have it
 */
export function checkNote(field: string, note: string): void {
  if (note !== '' && !isName(note))
    throw invalidArgument({
      field,
      expected: `at most ${NAME_LENGTH_MAX} characters ${NAME_EXPECTED}`,
    })
}

/** @throws CallError if no account can have this number */
export function checkAccountNumber(field: string, account: string): void {
  if (!/^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$/.test(account))
    throw invalidArgument({ field, expected: '1 to 64 letters, digits, dots, hyphens and underscores' })
}
