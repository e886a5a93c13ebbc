/** Administration of the application credentials of service users. */
import { callError, invalidArgument } from '../../base/call-error.ts'
import { randomText } from '../../base/random-text.ts'
import { Secret } from '../../base/secret.ts'
import { isVisible, VISIBLE_EXPECTED } from '../../base/visible-text.ts'
import {
  APPLICATION_CREDENTIALS_MAX,
  ApplicationCredentialChange,
  type ApplicationCredentialRecord,
  ApplicationCredentialRecords,
  type NewApplicationCredential,
  TooManyCredentials,
} from '../../directory/application-credential-records.ts'
import type { Page, UserRecord } from '../../directory/directory.ts'
import type { DirectoryStore } from '../../directory/store.ts'
import type { Actor } from '../actor.ts'
import { canBeName, checkName } from '../names.ts'
import { PASSWORD_LENGTH_MAX, type Passwords } from '../password.ts'
import { changeDirectory, userToChange } from './change.ts'
import { found, userIn } from './found.ts'

/** What a user wants of a credential. */
export interface WantedCredential extends Omit<NewApplicationCredential, 'secretHash'> {
  /** `undefined`: one of 256 random bits is made. */
  readonly secret: Secret | undefined
}

/** Longest description, in characters. */
const DESCRIPTION_LENGTH_MAX = 1_000

/** Every method throws `CallError` where there is no answer. */
export class ApplicationCredentialAdministration {
  readonly #store: DirectoryStore
  readonly #passwords: Passwords
  /** Wall clock, in milliseconds since the epoch. */
  readonly #now: () => number

  constructor(store: DirectoryStore, passwords: Passwords, now: () => number) {
    this.#store = store
    this.#passwords = passwords
    this.#now = now
  }

  get #records(): ApplicationCredentialRecords {
    return new ApplicationCredentialRecords(this.#store.records.queries)
  }

  /** The secret is in this answer and nowhere else. */
  async create(
    actor: Actor,
    user: Pick<UserRecord, 'account' | 'name'>,
    wanted: WantedCredential,
  ): Promise<{ readonly credential: ApplicationCredentialRecord; readonly secret: Secret }> {
    const { secret: chosen, ...fields } = wanted
    this.#check(wanted)
    const secret = chosen ?? new Secret(randomText(32))
    // Hashing takes long, so it comes before the change, in the turn of who asks.
    const secretHash = await this.#passwords.hash(secret.reveal(), actor.principal)
    const credential = await changeDirectory(
      this.#store,
      actor,
      async (change) => {
        const holder = await userToChange(change, actor, user.account, user.name, 'service_user')
        const id = await new ApplicationCredentialChange(change)
          .add(holder, { ...fields, secretHash })
          .catch((error: unknown) => {
            if (!(error instanceof TooManyCredentials)) throw error
            throw callError('APPLICATION_CREDENTIALS_FULL', { max: APPLICATION_CREDENTIALS_MAX })
          })
        return found(await new ApplicationCredentialRecords(change.records.queries).ofUser(holder.id, id), id)
      },
      `application credential \`${fields.name}\``,
    )
    return { credential, secret }
  }

  list(userId: string, page: Page): Promise<readonly ApplicationCredentialRecord[]> {
    return this.#records.list(userId, page)
  }

  async listOf(
    account: string,
    userName: string,
    page: Page,
  ): Promise<readonly ApplicationCredentialRecord[]> {
    const user = await userIn(this.#store.records, account, userName, 'service_user')
    return this.list(user.id, page)
  }

  async get(userId: string, id: string): Promise<ApplicationCredentialRecord> {
    return found(await this.find(userId, id), MISSING)
  }

  /** @returns `undefined`: the user has no such credential, or it ended */
  async find(userId: string, id: string): Promise<ApplicationCredentialRecord | undefined> {
    return canBeName(id) ? this.#records.ofUser(userId, id) : undefined
  }

  /** Deletes a credential of a user. Its tokens are revoked. */
  delete(actor: Actor, { account, name }: Pick<UserRecord, 'account' | 'name'>, id: string): Promise<void> {
    return changeDirectory(this.#store, actor, async (change) => {
      const user = await userToChange(change, actor, account, name, 'service_user')
      const records = new ApplicationCredentialRecords(change.records.queries)
      const credential = canBeName(id) ? await records.ofUser(user.id, id) : undefined
      await new ApplicationCredentialChange(change).delete(found(credential, MISSING))
    })
  }

  /** @throws CallError that names the field of the request */
  #check({ name, description, secret, expiresAt }: WantedCredential): void {
    checkName('application_credential.name', name)
    if (description.length > DESCRIPTION_LENGTH_MAX || (description !== '' && !isVisible(description)))
      throw invalidArgument({
        field: 'application_credential.description',
        expected: `a text of at most ${DESCRIPTION_LENGTH_MAX} characters ${VISIBLE_EXPECTED}`,
      })
    if (secret !== undefined && !canBeSecret(secret.reveal()))
      throw invalidArgument({
        field: 'application_credential.secret',
        expected: `1 to ${PASSWORD_LENGTH_MAX} characters`,
      })
    if (expiresAt !== undefined && expiresAt.ms <= this.#now())
      throw invalidArgument({
        field: 'application_credential.expires_at',
        expected: 'a time in the future',
      })
  }
}

const MISSING = 'such application credential of that user'

function canBeSecret(secret: string): boolean {
  return secret.length > 0 && secret.length <= PASSWORD_LENGTH_MAX && secret.isWellFormed()
}
