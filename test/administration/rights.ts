/**
 * Who may call what, written down by hand from the comments of `directory.proto`, apart from the table of
 * operations that the sidecar goes by.
 */
import type { DirectoryServiceService } from '../../proto/gen/portcullis/v1/directory.ts'

export type Method = keyof typeof DirectoryServiceService

/** Whom an operation is for, as `usecases/administration/authorize.ts` names them. */
type Need = 'operator' | 'account_administrator' | 'inviter' | 'self' | 'self_or_account_administrator'

/** The field of the request that names the control panel user, or else how much the call is about. */
type About = 'every account' | 'the account' | 'name' | 'userName'

/**
 * When a call is for owners alone.
 *
 * @param sets what the request makes of `owner`
 * @param is whether the user is an owner before
 */
type ForOwners = (sets: boolean | undefined, is: boolean) => boolean

export interface Right {
  readonly need: Need
  readonly about: About
  readonly forOwners?: ForOwners
  /**
   * When a call is for operators alone: by what the request makes of `enabled`, and whether it is about a
   * validator.
   */
  readonly forOperators?: (sets: boolean | undefined, is: boolean) => boolean
  /** Whether an owner may call from outside the addresses that the account is restricted to. */
  readonly ownersFromAnywhere?: true
  /** Whether a session must have been confirmed lately: always, or where it has somebody administer. */
  readonly proof?: 'always' | 'for administrators'
  /** Whether it takes rights away and no more: always, or where it disables and changes nothing else. */
  readonly revokes?: 'always' | 'where it disables'
}

/** Whether the call changes nothing and gives out no secret. */
export function reads(method: Method): boolean {
  return /^(get|list|preview)/.test(method)
}

export const RIGHTS: Readonly<Record<Method, Right>> = {
  createAccount: { need: 'operator', about: 'the account' },
  getAccount: { need: 'account_administrator', about: 'the account' },
  listAccounts: { need: 'operator', about: 'every account' },
  updateAccount: { need: 'operator', about: 'the account' },
  deleteAccount: { need: 'operator', about: 'the account' },

  createProject: { need: 'account_administrator', about: 'the account' },
  getProject: { need: 'account_administrator', about: 'the account' },
  listProjects: { need: 'account_administrator', about: 'the account' },
  updateProject: { need: 'account_administrator', about: 'the account', revokes: 'where it disables' },
  deleteProject: { need: 'account_administrator', about: 'the account', revokes: 'always' },

  createServiceUser: { need: 'account_administrator', about: 'the account', proof: 'always' },
  getServiceUser: { need: 'account_administrator', about: 'the account' },
  listServiceUsers: { need: 'account_administrator', about: 'the account' },
  updateServiceUser: {
    need: 'account_administrator',
    about: 'the account',
    forOperators: (sets, is) => is && sets === true,
    proof: 'for administrators',
    revokes: 'where it disables',
  },
  deleteServiceUser: { need: 'account_administrator', about: 'the account', revokes: 'always' },
  replaceServiceUserPassword: {
    need: 'account_administrator',
    about: 'the account',
    forOperators: (_sets, is) => is,
    proof: 'always',
  },
  setServiceUserValidator: { need: 'operator', about: 'the account' },

  createControlPanelUser: {
    need: 'account_administrator',
    about: 'name',
    forOwners: (sets) => sets === true,
    proof: 'for administrators',
  },
  getControlPanelUser: { need: 'self_or_account_administrator', about: 'name' },
  listControlPanelUsers: { need: 'account_administrator', about: 'the account' },
  updateControlPanelUser: {
    need: 'account_administrator',
    about: 'name',
    forOwners: (sets, is) => is || sets !== undefined,
    proof: 'for administrators',
    revokes: 'where it disables',
  },
  deleteControlPanelUser: {
    need: 'account_administrator',
    about: 'name',
    forOwners: (_sets, is) => is,
    revokes: 'always',
  },
  getControlPanelUserToken: { need: 'self', about: 'name' },
  copyControlPanelUserToken: { need: 'self', about: 'name', proof: 'always' },
  reissueControlPanelUserToken: { need: 'self', about: 'name', proof: 'always' },

  createInvitation: { need: 'inviter', about: 'userName', forOwners: (_sets, is) => is, proof: 'always' },
  listSessions: { need: 'self_or_account_administrator', about: 'userName' },
  endSession: {
    need: 'self_or_account_administrator',
    about: 'userName',
    forOwners: (_sets, is) => is,
    revokes: 'always',
  },

  createStaticToken: { need: 'self', about: 'userName', proof: 'always' },
  listStaticTokens: { need: 'self_or_account_administrator', about: 'userName' },
  revokeStaticToken: {
    need: 'self_or_account_administrator',
    about: 'userName',
    forOwners: (_sets, is) => is,
    revokes: 'always',
  },

  getAddressRestriction: { need: 'account_administrator', about: 'the account', ownersFromAnywhere: true },
  setAddressRestriction: {
    need: 'account_administrator',
    about: 'the account',
    forOwners: () => true,
    ownersFromAnywhere: true,
    proof: 'always',
  },
  previewAddressRestriction: {
    need: 'account_administrator',
    about: 'the account',
    ownersFromAnywhere: true,
  },

  listApplicationCredentials: { need: 'account_administrator', about: 'the account' },
  deleteApplicationCredential: { need: 'account_administrator', about: 'the account', revokes: 'always' },

  listRevocations: { need: 'operator', about: 'every account' },
  getMatrixRollout: { need: 'operator', about: 'every account' },
  promoteMatrix: { need: 'operator', about: 'every account', proof: 'always' },
  rollBackMatrix: { need: 'operator', about: 'every account', proof: 'always' },

  listAuditRecords: { need: 'account_administrator', about: 'the account' },
}
