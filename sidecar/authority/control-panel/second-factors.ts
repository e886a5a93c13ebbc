/** What a control panel user proves beside the password, or in place of it. */
import { callError } from '../../base/call-error.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { UserRecord } from '../../directory/directory.ts'
import type { DirectoryRecords } from '../../directory/records.ts'

/** `code`: a one-time code after the password. `passkey`: a passkey in place of it. */
export type FactorWay = 'code' | 'passkey'

export interface SecondFactors {
  /** What the user has set up. Where that is something, the password alone is not enough. */
  waysOf(records: DirectoryRecords, userId: string): Promise<readonly FactorWay[]>
  /** Uses a code up, inside the transaction of what it is for. @throws CallError `CODE_WRONG` */
  useCode(change: DirectoryChange, user: UserRecord, code: string): Promise<void>
  /**
   * Does what a code is for. A wrong code counts for its user, wherever it comes from.
   *
   * @param code `undefined`: the user gave none, and nothing is counted
   * @throws CallError `LOGIN_THROTTLED`, and what `work` throws
   */
  whileGuessed<T>(user: UserRecord, code: string | undefined, work: () => Promise<T>): Promise<T>
}

/**
 * Expects the second factor of a user whose password was right, inside the transaction of what it is for.
 *
 * @param code `undefined`: the user gave none
 * @throws CallError `SECOND_FACTOR_REQUIRED`, `CODE_WRONG`
 */
export async function expectSecondFactor(
  factors: SecondFactors,
  change: DirectoryChange,
  user: UserRecord,
  code: string | undefined,
): Promise<void> {
  const ways = await factors.waysOf(change.records, user.id)
  if (ways.length === 0) return
  if (code === undefined || !ways.includes('code'))
    throw callError(
      'SECOND_FACTOR_REQUIRED',
      { ways: ways.map((way) => WORDS[way]).join(' or ') },
      { metadata: { ways: ways.join(' ') } },
    )
  await factors.useCode(change, user, code)
}

const WORDS: Readonly<Record<FactorWay, string>> = { code: 'a one-time code', passkey: 'a passkey' }
