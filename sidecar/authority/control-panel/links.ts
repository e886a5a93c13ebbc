/** Links that work once: invitations, by which a user sets a password, and links that log in. */
import { callError } from '../../base/call-error.ts'
import type { Secret } from '../../base/secret.ts'
import { TimeLimit } from '../../base/time-limit.ts'
import type { ChangeAuthor } from '../../directory/author.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { UserRecord } from '../../directory/directory.ts'
import { userIn } from '../../directory/found.ts'
import { PanelChange } from '../../directory/panel-change.ts'
import { type LinkPurpose, type PanelLinkRecord, PanelRecords } from '../../directory/panel-records.ts'
import type { DirectoryRecords } from '../../directory/records.ts'
import { changeDirectory } from '../administration/change-directory.ts'
import { hashOfPanelSecret, newPanelSecret } from './panel-secret.ts'
import type { PanelParts } from './parts.ts'

/** How long a link works. */
const LINK_LIMIT = new TimeLimit(24 * 3_600_000)

/** The secret is in this answer and nowhere else. */
export interface NewLink {
  readonly secret: Secret
  /** Milliseconds since the epoch. */
  readonly endsAtMs: number
}

/** A link that works now, with what is stored of its secret. */
export interface LiveLink extends PanelLinkRecord {
  readonly hash: Buffer
}

export class PanelLinks {
  readonly #parts: Pick<PanelParts, 'store' | 'now'>

  constructor(parts: Pick<PanelParts, 'store' | 'now'>) {
    this.#parts = parts
  }

  /** Makes a link for a user, in place of the earlier one with the same purpose. */
  async add(change: DirectoryChange, user: UserRecord, purpose: LinkPurpose): Promise<NewLink> {
    const { secret, hash } = newPanelSecret()
    const endsAtMs = LINK_LIMIT.endOf(this.#parts.now())
    await new PanelChange(change).addLink(user, { hash, purpose, endsAtMs })
    return { secret, endsAtMs }
  }

  /** As `add`, in a separate change. @throws CallError `NOT_FOUND` */
  create(author: ChangeAuthor, account: string, name: string, purpose: LinkPurpose): Promise<NewLink> {
    return changeDirectory(this.#parts.store, author, async (change) => {
      change.writer.hold({ account, userNames: [name], changes: 'users' })
      return this.add(change, await userIn(change.records, account, name, 'control_panel_user'), purpose)
    })
  }

  /**
   * The link with this secret, which is not used up.
   *
   * @param records of a transaction, for a use
   * @throws CallError `LINK_INVALID`
   */
  async find(
    secret: string,
    purpose: LinkPurpose,
    records: DirectoryRecords = this.#parts.store.records,
  ): Promise<LiveLink> {
    const hash = hashOfPanelSecret(secret)
    const link = hash && (await new PanelRecords(records).link(hash, purpose))
    if (hash === undefined || link === undefined || LINK_LIMIT.isOver(link.endsAtMs, this.#parts.now()))
      throw callError('LINK_INVALID', {})
    return { ...link, hash }
  }
}
