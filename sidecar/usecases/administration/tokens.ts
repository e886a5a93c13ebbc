/**
 * Operations on the tokens of control panel users, the application credentials of service users, and on
 * revocations.
 */
import type { Engine } from '../../../engine/index.ts'
import type {
  ApplicationCredentialRecord,
  RevocationRecord,
  StaticTokenRecord,
} from '../../authority/administration/administration.ts'
import type { IssuedToken, VerifiedToken } from '../../authority/authority.ts'
import type { Secret } from '../../base/secret.ts'
import type { NamedRequest } from './accounts.ts'
import { operation } from './operation.ts'
import { type Listed, type PageRequest, paged } from './paging.ts'

/** An IAM token of a control panel user: for a project, or for the account where that is `undefined`. */
export interface PanelTokenRequest extends NamedRequest {
  readonly project: string | undefined
}

/** Where a token belongs. */
interface Carriage {
  /** Request header to send it in. */
  readonly header: string
  /** Before the token in that header; empty: the token alone. */
  readonly scheme: string
}

export interface PanelToken extends Carriage {
  readonly value: Secret
  readonly token: VerifiedToken
  /** What decisions on it will say: that it is for testing only (§5.1). */
  readonly advice: readonly string[]
}

/** A static token, by its control panel user and its key name. */
export interface StaticTokenRequest {
  readonly account: string
  readonly userName: string
  readonly name: string
}

export interface NewStaticTokenRequest extends StaticTokenRequest {
  /** What it is for, or empty. */
  readonly note: string
}

export interface StaticTokenListRequest extends PageRequest {
  readonly account: string
  readonly userName: string
}

/** Selects the application credentials of a service user. */
export interface ServiceUserListRequest extends PageRequest {
  readonly account: string
  readonly userName: string
}

/** An application credential, by its service user and its id. */
export interface CredentialRequest {
  readonly account: string
  readonly userName: string
  readonly id: string
}

export interface CreatedStaticToken extends Carriage {
  readonly token: StaticTokenRecord
  readonly value: Secret
}

export const TOKEN_OPERATIONS = {
  getControlPanelUserToken: operation<PanelTokenRequest, VerifiedToken | undefined>({
    need: 'self',
    reads: true,
    about: ({ account, name }) => ({ account, controlPanelUser: name }),
    work: ({ administration }, { account, name, project }) =>
      administration.tokens.panelToken(account, name, project),
  }),
  copyControlPanelUserToken: operation<PanelTokenRequest, PanelToken>({
    need: 'self',
    proof: true,
    about: ({ account, name }) => ({ account, controlPanelUser: name }),
    work: async ({ engine, administration, actor }, { account, name, project }) =>
      panelToken(engine, await administration.tokens.copyPanelToken(actor, account, name, project)),
  }),
  reissueControlPanelUserToken: operation<PanelTokenRequest, PanelToken>({
    need: 'self',
    proof: true,
    about: ({ account, name }) => ({ account, controlPanelUser: name }),
    work: async ({ engine, administration, actor }, { account, name, project }) =>
      panelToken(engine, await administration.tokens.reissuePanelToken(actor, account, name, project)),
  }),

  createStaticToken: operation<NewStaticTokenRequest, CreatedStaticToken>({
    need: 'self',
    proof: true,
    about: ({ account, userName }) => ({ account, controlPanelUser: userName }),
    work: async ({ engine, administration, actor }, { account, userName, ...key }) => {
      const created = await administration.tokens.createStaticToken(actor, account, userName, key)
      const { token, kind, value } = created
      return { token, ...carriage(engine, kind), value }
    },
  }),
  listStaticTokens: operation<StaticTokenListRequest, Listed<StaticTokenRecord>>({
    need: 'self_or_account_administrator',
    reads: true,
    about: ({ account, userName }) => ({ account, controlPanelUser: userName }),
    work: ({ administration }, request) =>
      paged(
        request,
        (page) => administration.tokens.staticTokens(request.account, request.userName, page),
        ({ id }) => id,
      ),
  }),
  revokeStaticToken: operation<StaticTokenRequest, StaticTokenRecord>({
    need: 'self_or_account_administrator',
    about: ({ account, userName }) => ({ account, controlPanelUser: userName }),
    revokes: () => true,
    forOwners: { user: (user) => user.owner },
    work: ({ administration, actor }, { account, userName, name }) =>
      administration.tokens.revokeStaticToken(actor, account, userName, name),
  }),

  listApplicationCredentials: operation<ServiceUserListRequest, Listed<ApplicationCredentialRecord>>({
    need: 'account_administrator',
    reads: true,
    about: ({ account }) => ({ account }),
    work: ({ administration }, request) =>
      paged(
        request,
        (page) => administration.applicationCredentials.listOf(request.account, request.userName, page),
        ({ name }) => name,
      ),
  }),
  deleteApplicationCredential: operation<CredentialRequest, void>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    revokes: () => true,
    work: ({ administration, actor }, { account, userName, id }) =>
      administration.applicationCredentials.delete(actor, { account, name: userName }, id),
  }),

  listRevocations: operation<PageRequest, Listed<RevocationRecord>>({
    need: 'operator',
    reads: true,
    about: () => ({ account: undefined }),
    work: ({ administration }, request) =>
      paged(
        request,
        (page) => administration.tokens.revocations(page),
        ({ tokenId }) => tokenId,
      ),
  }),
}

function panelToken(engine: Engine, { value, token }: IssuedToken): PanelToken {
  const [api = ''] = engine.apis.keys()
  const { advice } = engine.decide({ api, kind: token.kind, scope: token.scope, holder: token.subject.type })
  return { ...carriage(engine, token.kind), value, token, advice }
}

function carriage({ tokenKinds }: Engine, id: string): Carriage {
  const { header = '', scheme = '' } = tokenKinds.get(id) ?? {}
  return { header, scheme }
}
