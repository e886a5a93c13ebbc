/**
 * Obtains other software for the tests that need it. What cannot be obtained is skipped, and a printed line
 * says why.
 */
import { CommandFailed } from './command.ts'

/** What was obtained, or the reason why it is missing. */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: string }

/**
 * Obtains some software and prepares it. Obtaining may fail, and then its tests are skipped. Preparing must
 * not fail.
 */
export async function available<Obtained, T>(
  name: string,
  obtain: () => Promise<Obtained>,
  prepare: (obtained: Obtained) => Promise<T>,
): Promise<Outcome<T>> {
  let obtained: Obtained
  try {
    obtained = await obtain()
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    process.stderr.write(`interop: every test that needs ${name} is skipped: ${error.message}\n`)
    return { ok: false, why: error.message }
  }
  return { ok: true, value: await prepare(obtained) }
}

/** Obtains software that needs no preparation. */
export function obtained<T>(name: string, obtain: () => Promise<T>): Promise<Outcome<T>> {
  return available(name, obtain, async (value) => value)
}
