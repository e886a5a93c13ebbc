/** What a control panel user proves beside the password, or in place of it. */
import type { ChallengeFor } from '../../authority/control-panel/challenges.ts'
import type { ControlPanel } from '../../authority/control-panel/control-panel.ts'
import { type AuthenticationResponseJSON, canBePasskey } from '../../authority/control-panel/passkeys.ts'
import type { LoginOutcome, Settle } from '../../authority/throttle.ts'
import { CallError, callError } from '../../base/call-error.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { UserRecord } from '../../directory/directory.ts'
import { FactorChange } from '../../directory/factor-change.ts'
import { FactorRecords } from '../../directory/factor-records.ts'
import type { PanelCall, PanelServices } from './panel-call.ts'

/** `code`: a one-time code after the password. `passkey`: a passkey in place of it. */
const WORDS = { code: 'a one-time code', passkey: 'a passkey' } as const

/**
 * Expects the second factor of a user whose password was right, and uses a code up, inside the transaction of
 * what it is for. A user who has set up nothing needs none.
 *
 * @param code `undefined`: the user gave none
 * @throws CallError `SECOND_FACTOR_REQUIRED`, `CODE_WRONG`
 */
export async function expectSecondFactor(
  { controlPanel, now }: Pick<PanelServices, 'controlPanel' | 'now'>,
  change: DirectoryChange,
  { id }: UserRecord,
  code: string | undefined,
): Promise<void> {
  const records = new FactorRecords(change.records)
  const kinds = await records.kinds(id)
  const ways = (['code', 'passkey'] as const).filter((way) => kinds[way])
  if (ways.length === 0) return
  const stored = await records.code(id)
  if (code === undefined || stored === undefined)
    throw callError(
      'SECOND_FACTOR_REQUIRED',
      { ways: ways.map((way) => WORDS[way]).join(' or ') },
      { metadata: { ways: ways.join(' ') } },
    )
  const step = await controlPanel.codes.stepOf(id, stored, code, now())
  if (step === undefined || !(await new FactorChange(change).useStep(id, stored, step)))
    throw callError('CODE_WRONG', {})
}

/**
 * Does what a code is for. A wrong code counts for its user, wherever it comes from.
 *
 * @param code `undefined`: the user gave none, and nothing is counted
 * @throws CallError `LOGIN_THROTTLED`, and what `work` throws
 */
export async function whileGuessed<T>(
  { controlPanel }: Pick<PanelServices, 'controlPanel'>,
  user: UserRecord,
  code: string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (code === undefined) return work()
  const settle = await admitCode(controlPanel, user)
  let outcome: LoginOutcome = 'abandoned'
  try {
    const result = await work()
    outcome = 'succeeded'
    return result
  } catch (error) {
    if (error instanceof CallError && error.row.login === 'wrong_password') outcome = 'failed'
    throw error
  } finally {
    settle(outcome)
  }
}

/** The codes of a user are one source, wherever they come from. */
async function admitCode(
  { failedLogins }: ControlPanel,
  { id, account, name: userName }: UserRecord,
): Promise<Settle> {
  try {
    return await failedLogins.admit({ account, userName, source: `codes of ${id}`, guesses: 'code' })
  } catch (error) {
    const seconds = error instanceof CallError ? error.metadata.retry_after_seconds : undefined
    if (seconds === undefined) throw error
    const cause = 'too many wrong one-time codes of this user'
    throw callError('LOGIN_THROTTLED', { cause, seconds }, { metadata: { retry_after_seconds: seconds } })
  }
}

/** A passkey that signed an answer. */
export interface PasskeyProof {
  readonly userId: string
  /** To be called inside the transaction of what it is for. @throws CallError `PASSKEY_REFUSED` */
  readonly use: (change: DirectoryChange) => Promise<void>
}

/** @throws CallError `PASSKEY_REFUSED` */
export async function provePasskey(
  { controlPanel, now }: PanelServices,
  { page: origin }: PanelCall,
  what: ChallengeFor,
  response: AuthenticationResponseJSON,
): Promise<PasskeyProof> {
  const records = new FactorRecords(controlPanel.records)
  const passkey = canBePasskey(response.id) ? await records.passkey(response.id) : undefined
  if (passkey === undefined) throw callError('PASSKEY_REFUSED', {})
  const asked = { origin, nowMs: now() }
  const { counter, challenge } = await controlPanel.passkeys.verify(response, what, passkey, asked)
  return {
    userId: passkey.userId,
    use: async (change) => {
      const factors = new FactorChange(change)
      const unused = await factors.useChallenge(challenge)
      if (!unused || !(await factors.usePasskey(passkey.id, counter))) throw callError('PASSKEY_REFUSED', {})
    },
  }
}
