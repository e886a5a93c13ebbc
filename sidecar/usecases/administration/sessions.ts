/** Operations on how control panel users log in: invitations and sessions. */
import { callError } from '../../base/call-error.ts'
import type { UserRecord } from '../../directory/directory.ts'
import type { PanelSession } from '../../directory/panel-records.ts'
import type { Requester } from '../requester.ts'
import { changing, listing } from './operation.ts'
import { HOLDING_CONTROL_PANEL_USER, type OfUserRequest } from './subject.ts'
import type { OfUserListRequest } from './tokens.ts'

export interface SessionRequest extends OfUserRequest {
  readonly id: string
}

export const SESSION_OPERATIONS = {
  createInvitation: changing<OfUserRequest>()({
    need: 'inviter',
    subject: HOLDING_CONTROL_PANEL_USER,
    proof: true,
    forOwners: { user: (user) => user.owner },
    prepare: ({ administration }) => administration.controlPanel(),
    work: ({ requester, change, subject, ready: { links } }) => {
      expectAnother(requester, subject)
      return links.add(change, subject, 'invitation')
    },
  }),
  listSessions: listing<OfUserListRequest>()({
    need: 'self_or_account_administrator',
    subject: HOLDING_CONTROL_PANEL_USER,
    page: async ({ administration, subject }, { after }) => {
      const { sessions } = await administration.controlPanel()
      const listed = await sessions.list(subject)
      return listed.filter((session) => after === '' || keyOf(session) < after)
    },
    key: keyOf,
  }),
  endSession: changing<SessionRequest>()({
    need: 'self_or_account_administrator',
    subject: HOLDING_CONTROL_PANEL_USER,
    revokes: () => true,
    forOwners: { user: (user) => user.owner },
    prepare: ({ administration }) => administration.controlPanel(),
    work: ({ change, subject, ready: { sessions } }, { id }) => sessions.end(change, subject, id),
  }),
}

/**
 * An invitation replaces the password and removes the second factor, and asks for neither.
 *
 * @throws CallError: PERMISSION_DENIED
 */
function expectAnother(requester: Requester | undefined, user: UserRecord): void {
  if (requester?.type === 'user' && requester.user.id === user.id)
    throw callError('NOT_ADMINISTRATOR', {
      who: 'another administrator of the account (you change your own password under Profile, Security)',
    })
}

/** Rises with the time: newer sessions come first in a list. */
function keyOf({ createdAtMs, id }: PanelSession): string {
  return `${String(createdAtMs).padStart(15, '0')} ${id}`
}
