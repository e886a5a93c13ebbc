/**
 * Which APIs does a credential open? The credential is verified once, and the matrix is asked about each API.
 * No listener hears of it.
 */
import type { CredentialReason } from '../../engine/index.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { Asker } from './asker.ts'
import { checkCredentials, checkVerified, type Verifying } from './check.ts'
import type { CheckOutcome, CredentialsQuestion } from './questions.ts'

/** The facts about a credential before a question about an API. */
export interface CredentialForSearch extends Pick<CheckOutcome, 'token'> {
  /** Why it opens no API at all; `undefined`: an authority has verified it. */
  readonly denial: CheckOutcome['decision'] | undefined
  /** Whether the credential opens the API, as `checkCredentials` says it. */
  opens(api: string): boolean
}

/** @throws CallError as `checkCredentials` does */
export function credentialForSearch(
  services: Verifying,
  question: Omit<CredentialsQuestion, 'api'>,
  connection: Asker['connection'],
): MaybePromise<CredentialForSearch> {
  // The faults of a credential are the same for every API of the matrix, so any of them will do.
  // Survives: `''` → `"Stryker was here!"`. A matrix without APIs has none, whatever its name is.
  const [api = ''] = services.engine.apis.keys()
  return andThen(
    checkCredentials(services, { ...question, api }, { connection, listener: undefined }),
    ({ decision, token, verified }) => {
      // Survives: `token === undefined` → `false`. A token that is verified is there.
      if (token === undefined || !verified) {
        const { reason } = decision
        // Some APIs need no token.
        const fault = reason === 'ALLOWED' ? 'CREDENTIAL_MISSING' : (reason as CredentialReason)
        return {
          token,
          denial: decision.allowed ? undefined : decision,
          opens: (each) => services.engine.deny(each, fault).allowed,
        }
      }
      const { target } = question
      return {
        token,
        denial: undefined,
        opens: (each) => checkVerified(services, token, { api: each, target }).allowed,
      }
    },
  )
}
