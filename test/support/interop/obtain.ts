/**
 * Obtains other software for the tests that need it. A test is skipped if its software cannot be obtained,
 * and a printed line says why.
 */
import { tell } from '../../../scripts/tally.ts'
import { CommandFailed } from './command.ts'

/** The software that was obtained, or the reason why it is missing. */
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
    return missing(name, error.message)
  }
  return { ok: true, value: await prepare(obtained) }
}

/** Obtains software that needs no preparation. */
export function obtained<T>(name: string, obtain: () => Promise<T>): Promise<Outcome<T>> {
  return available(name, obtain, async (value) => value)
}

/** Says that the tests that need some software are skipped, and why. */
export function missing(name: string, why: string): { readonly ok: false; readonly why: string } {
  process.stderr.write(`skipped is what needs ${name}: ${why}\n`)
  tell({ skipped: [{ what: `what needs ${name}`, why }] })
  return { ok: false, why }
}
