/**
 * Logging in: what somebody proves becomes a session. What they prove is looked at, or looked at again,
 * inside the transaction that begins the session.
 */
import { callError } from '../../base/call-error.ts'
import type { Secret } from '../../base/secret.ts'
import type { ChangeAuthor, ChangeOrigin } from '../../directory/author.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import { type NewSession, PanelChange } from '../../directory/panel-change.ts'
import { PanelRecords } from '../../directory/panel-records.ts'
import { changeDirectory } from '../administration/change.ts'
import type { Origin, PasswordRequester } from '../authority.ts'
import { nameOfSource } from '../login-source.ts'
import { actorOf } from './actor.ts'
import type { PasskeyProof } from './factors.ts'
import type { LiveLink, PanelLinks } from './links.ts'
import type { PanelParts } from './parts.ts'
import { checkPanelPassword, type PanelPasswords, type ProvenLogin } from './passwords.ts'
import { expectSecondFactor } from './second-factors.ts'
import { newPanelSecret } from './secret.ts'
import { expectAddress, type LiveSession, type PanelSessions, sessionEnded } from './sessions.ts'

/** Who asks for a session, and how. */
export interface LoginRequest {
  readonly origin: ChangeOrigin
  readonly from: Pick<Origin, 'source' | 'connection'>
  /** What the browser says of itself. */
  readonly client: string
  /** SHA-256 of the session that the browser has; the new one takes its place. */
  readonly replaces: Buffer | undefined
  /** Counts the login among the changes of its user. @throws CallError where there are too many */
  readonly spend: (author: Pick<ChangeAuthor, 'lane' | 'principal'>) => void
}

/** A session that has begun. The secret is for the cookie alone. */
export interface Begun {
  readonly secret: Secret
  readonly session: LiveSession
}

/** A caller who logs in. */
export interface CallerLogin {
  readonly author: ChangeAuthor
  /** Name of the caller. */
  readonly caller: string
  /** SHA-256 of the caller token. */
  readonly digest: Buffer
  /** Called inside the transaction. @throws CallError where the caller was withdrawn meanwhile */
  readonly again: () => void
}

interface LogInParts {
  readonly passwords: PanelPasswords
  readonly links: PanelLinks
  readonly sessions: PanelSessions
}

/** Every method throws `CallError` where there is no session. */
export class LogIn {
  readonly #parts: PanelParts
  readonly #panel: LogInParts

  constructor(parts: PanelParts, panel: LogInParts) {
    this.#parts = parts
    this.#panel = panel
  }

  /** @param code a one-time code; `undefined`: the user gave none */
  byPassword(claim: PasswordRequester, code: string | undefined, request: LoginRequest): Promise<Begun> {
    return this.#panel.passwords.prove(claim, request.from, async (login) => {
      // From elsewhere nobody uses up the guesses of a code.
      expectAddress(login, request.origin)
      const { factors } = this.#parts
      return factors.whileGuessed(login.user, code, () =>
        this.#begin(actorOf(login.user, request.origin), request, 'password', async (change) => {
          await expectSame(change, login)
          await expectSecondFactor(factors, change, login.user, code)
          return login.user
        }),
      )
    })
  }

  /** By a link that logs in, which is used up. */
  async byLink(secret: string, request: LoginRequest): Promise<Begun> {
    const { links } = this.#panel
    const link = await links.find(secret, 'login')
    return this.#begin(actorOf(link.user, request.origin), request, 'link', async (change) => {
      const { user, hash } = await links.find(secret, 'login', change.records)
      await new PanelChange(change).removeLink(hash)
      return user
    })
  }

  /** Whose invitation it is. It is not used up. */
  invitation(secret: string): Promise<LiveLink> {
    return this.#panel.links.find(secret, 'invitation')
  }

  /**
   * Sets the password of an invitation, which is used up, and logs in. What the user had set up before is
   * gone.
   */
  async byInvitation(secret: string, password: Secret, request: LoginRequest): Promise<Begun> {
    const { links } = this.#panel
    const invitation = await links.find(secret, 'invitation')
    // Before the work of hashing a password.
    expectAddress(invitation, request.origin)
    checkPanelPassword('password', password, invitation.user)
    const passwordHash = await this.#parts.passwords.hash(password.reveal(), invitation.user.id)
    return this.#begin(actorOf(invitation.user, request.origin), request, 'invitation', async (change) => {
      const { user } = await links.find(secret, 'invitation', change.records)
      await new PanelChange(change).acceptInvitation(user, passwordHash)
      // With the generation that it has now.
      return (await change.records.userById(user.id)) ?? user
    })
  }

  /** By a passkey, in place of the password and the code. */
  async byPasskey({ userId, use }: PasskeyProof, request: LoginRequest): Promise<Begun> {
    const user = await this.#parts.store.records.userById(userId)
    if (user === undefined) throw callError('PASSKEY_REFUSED', {})
    return this.#begin(actorOf(user, request.origin), request, 'passkey', async (change) => {
      await use(change)
      const login = await new PanelRecords(change.records).login(user.account, user.name)
      if (login?.user.id !== userId) throw callError('PASSKEY_REFUSED', {})
      return login.user
    })
  }

  ofCaller({ author, caller, digest, again }: CallerLogin, request: LoginRequest): Promise<Begun> {
    return this.#begin(author, request, 'caller token', async () => {
      again()
      return { caller, digest: digest.toString('hex') }
    })
  }

  /**
   * Counts a wrong caller token. Right ones never come here, so callers cannot be locked out.
   *
   * @throws CallError `LOGIN_THROTTLED`
   */
  async refuseCaller({ source }: LoginRequest['from']): Promise<void> {
    const settle = await this.#parts.failedLogins.admit({ ...NOBODY, source: nameOfSource(source) })
    settle('failed')
  }

  /** The user of the session proves again who they are, with their password and what it takes beside it. */
  confirmByPassword(
    session: LiveSession,
    claim: PasswordRequester,
    code: string | undefined,
    request: Pick<LoginRequest, 'from' | 'origin' | 'spend'>,
  ): Promise<LiveSession> {
    return this.#panel.passwords.prove(claim, request.from, async (login) => {
      if (session.holder !== 'user' || session.user.id !== login.user.id) throw sessionEnded()
      expectAddress(login, request.origin)
      const actor = actorOf(login.user, request.origin)
      request.spend(actor)
      const { factors } = this.#parts
      return factors.whileGuessed(login.user, code, () =>
        this.#panel.sessions.confirm(actor, session, async (change) => {
          await expectSame(change, login)
          await expectSecondFactor(factors, change, login.user, code)
        }),
      )
    })
  }

  /** The user of the session proves again who they are, with a passkey. */
  async confirmByPasskey(
    session: LiveSession,
    { userId, use }: PasskeyProof,
    { origin, spend }: Pick<LoginRequest, 'origin' | 'spend'>,
  ): Promise<LiveSession> {
    if (session.holder !== 'user' || session.user.id !== userId) throw callError('PASSKEY_REFUSED', {})
    const actor = actorOf(session.user, origin)
    spend(actor)
    return this.#panel.sessions.confirm(actor, session, use)
  }

  async #begin(
    author: ChangeAuthor,
    { origin, client, replaces, spend }: LoginRequest,
    way: string,
    prove: (change: DirectoryChange) => Promise<NewSession['holder']>,
  ): Promise<Begun> {
    spend(author)
    const { secret, hash } = newPanelSecret()
    const { sessions } = this.#panel
    return changeDirectory(this.#parts.store, author, async (change) => {
      const holder = await prove(change)
      const panel = new PanelChange(change)
      const before = replaces && (await sessions.find(replaces, change.records))
      if (before !== undefined) await panel.replaceSession(before)
      const endsAtMs = sessions.endsAtMs()
      await panel.beginSession({ hash, holder, way, endsAtMs, address: origin.address, client })
      const session = await sessions.find(hash, change.records)
      if (session === undefined) throw callError('LOGIN_FAILED', {})
      if (session.holder === 'user') expectAddress(session, origin)
      return { secret, session }
    })
  }
}

/** No user has these names. */
const NOBODY = { account: '', userName: '' }

/**
 * The password was right before the transaction, and counts only while it is the user's.
 *
 * @throws CallError
 */
export async function expectSame(
  change: DirectoryChange,
  { user, passwordHash }: ProvenLogin,
): Promise<void> {
  const now = await new PanelRecords(change.records).login(user.account, user.name)
  if (
    now?.user.id !== user.id ||
    now.user.generation !== user.generation ||
    now.passwordHash !== passwordHash
  )
    throw callError('LOGIN_FAILED', {})
}
