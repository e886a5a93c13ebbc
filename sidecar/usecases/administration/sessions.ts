/** Operations on how control panel users log in: invitations and sessions. */
import type { Actor } from '../../authority/actor.ts'
import type { UserRecord } from '../../authority/administration/administration.ts'
import type { NewLink } from '../../authority/control-panel/links.ts'
import type { PanelSession } from '../../authority/control-panel/sessions.ts'
import { callError } from '../../base/call-error.ts'
import type { Requester } from '../requester.ts'
import type { AccountRequest } from './accounts.ts'
import { operation } from './operation.ts'
import { type Listed, type PageRequest, paged } from './paging.ts'

/** A control panel user, by their name. */
export interface PanelUserRequest extends AccountRequest {
  readonly userName: string
}

export interface SessionRequest extends PanelUserRequest {
  readonly id: string
}

export interface SessionListRequest extends PanelUserRequest, PageRequest {}

export const SESSION_OPERATIONS = {
  createInvitation: operation<PanelUserRequest, NewLink>({
    need: 'inviter',
    proof: true,
    about: ({ account, userName }) => ({ account, controlPanelUser: userName }),
    forOwners: { user: (user) => user.owner },
    work: async ({ administration, requester, actor }, { account, userName }) => {
      const { links } = await administration.controlPanel()
      const authorize: Actor['authorize'] = (user) => {
        actor.authorize(user)
        expectSomebodyElse(requester, user)
      }
      return links.create({ ...actor, authorize }, account, userName, 'invitation')
    },
  }),
  listSessions: operation<SessionListRequest, Listed<PanelSession>>({
    need: 'self_or_account_administrator',
    reads: true,
    about: ({ account, userName }) => ({ account, controlPanelUser: userName }),
    work: ({ administration }, request) =>
      paged(
        request,
        async ({ after }) => {
          const { sessions } = await administration.controlPanel()
          const listed = await sessions.list(request.account, request.userName)
          return listed.filter((session) => after === '' || keyOf(session) < after)
        },
        keyOf,
      ),
  }),
  endSession: operation<SessionRequest, void>({
    need: 'self_or_account_administrator',
    about: ({ account, userName }) => ({ account, controlPanelUser: userName }),
    revokes: () => true,
    forOwners: { user: (user) => user.owner },
    work: async ({ administration, actor }, { account, userName, id }) => {
      const { sessions } = await administration.controlPanel()
      await sessions.end(actor, account, userName, id)
    },
  }),
}

/**
 * An invitation replaces the password and removes the second factor, and asks for neither.
 *
 * @throws CallError: PERMISSION_DENIED
 */
function expectSomebodyElse(requester: Requester, user: UserRecord): void {
  if (requester.type === 'user' && requester.user.id === user.id)
    throw callError('NOT_ADMINISTRATOR', {
      who: 'another administrator of the account (you change your own password under Profile, Security)',
    })
}

/** Rises with the time: newer sessions come first in a list. */
function keyOf({ createdAtMs, id }: PanelSession): string {
  return `${String(createdAtMs).padStart(15, '0')} ${id}`
}
