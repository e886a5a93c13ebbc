/**
 * Operations on the tokens of control panel users, the application credentials of service users, and on
 * revocations.
 */
import type { Engine } from '../../../engine/index.ts'
import type { VerifiedToken } from '../../authority/authority.ts'
import { kindForScope } from '../../authority/kind-of-scope.ts'
import { checkName, checkNote } from '../../authority/names.ts'
import type { KeptPanelToken } from '../../authority/panel-tokens.ts'
import { callError } from '../../base/call-error.ts'
import type { Secret } from '../../base/secret.ts'
import { ApplicationCredentialRecords } from '../../directory/application-credential-records.ts'
import type { ProjectRecord, StaticTokenRecord } from '../../directory/directory.ts'
import { found, projectIn, staticTokenOf } from '../../directory/found.ts'
import type { DirectoryRecords } from '../../directory/records.ts'
import { deleteCredentialOf } from '../credential-records.ts'
import { type Context, changing, listing, reading } from './operation.ts'
import type { PageRequest } from './paging.ts'
import {
  CONTROL_PANEL_USER,
  DIRECTORY,
  HOLDING_CONTROL_PANEL_USER,
  HOLDING_SERVICE_USER,
  type NamedRequest,
  type OfUserRequest,
} from './subject.ts'

/** An IAM token of a control panel user. */
export interface PanelTokenRequest extends NamedRequest {
  /** Name of the project that it is for; empty or absent: it is for the account. */
  readonly project?: string | undefined
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
  /** The advice of decisions on it: that it is for testing only (§5.1). */
  readonly advice: readonly string[]
}

/** A static token, by its control panel user and its key name. */
export interface StaticTokenRequest extends OfUserRequest {
  readonly name: string
}

export interface NewStaticTokenRequest extends StaticTokenRequest {
  /** Its purpose; empty or absent: none is given. */
  readonly note?: string
  /** Id of its kind; empty or absent: the only one that is obtained in the control panel. */
  readonly kind?: string
}

/** Selects what a user has. */
export interface OfUserListRequest extends OfUserRequest, PageRequest {}

/** An application credential, by its service user and its id. */
export interface CredentialRequest extends OfUserRequest {
  readonly id: string
}

export interface CreatedStaticToken extends Carriage {
  readonly token: StaticTokenRecord
  readonly value: Secret
}

export const TOKEN_OPERATIONS = {
  /** The token that `copyControlPanelUserToken` returns, without its value; `undefined`: there is none. */
  getControlPanelUserToken: reading<PanelTokenRequest>()({
    need: 'self',
    subject: CONTROL_PANEL_USER,
    work: async ({ administration, records, subject }, request): Promise<VerifiedToken | undefined> => {
      const { panelTokens } = administration
      const kept = await panelTokens.kept(records, subject, await projectOf(records, request))
      return kept && (await panelTokens.faultOf(records, kept)) === undefined ? kept.token : undefined
    },
  }),
  /**
   * The user's IAM token once more (§5.1): signing the same claims with the same key gives the same token.
   */
  copyControlPanelUserToken: changing<PanelTokenRequest>()({
    need: 'self',
    subject: CONTROL_PANEL_USER,
    proof: true,
    work: async ({ engine, administration, change, records, subject }, request) => {
      const { panelTokens } = administration
      const missing = `such IAM token of control panel user \`${subject.name}\`; reissue makes one`
      const project = await projectOf(records, request)
      const kept = found(await panelTokens.kept(records, subject, project), missing)
      const fault = await panelTokens.faultOf(records, kept)
      if (fault !== undefined) throw callError(fault, { user: subject.name })
      await change.recordTokenCopied(subject, kept.token.tokenId)
      return signed({ engine, administration }, kept)
    },
  }),
  /** A new IAM token, for testing (§5.1). The one before is revoked. */
  reissueControlPanelUserToken: changing<PanelTokenRequest>()({
    need: 'self',
    subject: CONTROL_PANEL_USER,
    proof: true,
    prepare: ({ engine }, { account, project }) =>
      // Survives: `{ account }` → `{}`. The kind depends on whether there is a project.
      kindForScope(project ? { account, project } : { account }, engine.tokenKinds.values()),
    work: async ({ engine, administration, change, records, subject, ready: kind }, request) => {
      const project = await projectOf(records, request)
      const kept = await administration.panelTokens.reissue(change, subject, project, kind)
      return signed({ engine, administration }, kept)
    },
  }),

  /** A static token of a control panel user (§4.2). The value is in this answer and nowhere else. */
  createStaticToken: changing<NewStaticTokenRequest>()({
    need: 'self',
    subject: HOLDING_CONTROL_PANEL_USER,
    proof: true,
    creates: ({ name }) => `static token \`${name}\``,
    // Survives: `''` → `"Stryker was here!"`. Either text is a note.
    prepare: (_, { name, note = '' }) => {
      checkName('name', name)
      checkNote('note', note)
    },
    work: async (
      { engine, administration, change, records, subject },
      { name, note = '', kind: wanted = '' },
    ): Promise<CreatedStaticToken> => {
      const { secrets } = administration
      const kind = wanted || undefined
      const value = await secrets.addStaticToken(change, subject, { name, note, kind })
      const token = await staticTokenOf(records, subject, name)
      return { token, ...carriage(engine, token.kind), value }
    },
  }),
  listStaticTokens: listing<OfUserListRequest>()({
    need: 'self_or_account_administrator',
    subject: HOLDING_CONTROL_PANEL_USER,
    page: ({ records, subject }, page) => records.staticTokens(subject.id, page),
    key: ({ id }) => id,
  }),
  revokeStaticToken: changing<StaticTokenRequest>()({
    need: 'self_or_account_administrator',
    subject: HOLDING_CONTROL_PANEL_USER,
    revokes: () => true,
    forOwners: { user: (user) => user.owner },
    work: async ({ change, records, subject }, { account, name }): Promise<StaticTokenRecord> => {
      const token = await staticTokenOf(records, subject, name)
      return { ...token, revokedAtMs: await change.revoke(token.id, account) }
    },
  }),

  listApplicationCredentials: listing<OfUserListRequest>()({
    need: 'account_administrator',
    subject: HOLDING_SERVICE_USER,
    page: ({ records, subject }, page) =>
      new ApplicationCredentialRecords(records.queries).list(subject.id, page),
    key: ({ name }) => name,
  }),
  deleteApplicationCredential: changing<CredentialRequest>()({
    need: 'account_administrator',
    subject: HOLDING_SERVICE_USER,
    revokes: () => true,
    work: ({ change, subject }, { id }) => deleteCredentialOf(change, subject, id),
  }),

  listRevocations: listing<PageRequest>()({
    need: 'operator',
    subject: DIRECTORY,
    page: ({ records }, page) => records.revocations(page),
    key: ({ tokenId }) => tokenId,
  }),
}

/** The project that a token is asked for; `undefined`: for the account. @throws CallError `NOT_FOUND` */
async function projectOf(
  records: DirectoryRecords,
  { account, project }: PanelTokenRequest,
): Promise<ProjectRecord | undefined> {
  return project ? projectIn(records, account, project) : undefined
}

function signed(
  { engine, administration }: Pick<Context, 'engine' | 'administration'>,
  kept: KeptPanelToken,
): PanelToken {
  const { value, token } = administration.panelTokens.signed(kept, engine.tokenKinds)
  // Survives: `''` → `"Stryker was here!"`. A matrix without APIs has none of either name.
  const [api = ''] = engine.apis.keys()
  const { advice } = engine.decide({ api, kind: token.kind, scope: token.scope, holder: token.subject.type })
  return { ...carriage(engine, token.kind), value, token, advice }
}

function carriage({ tokenKinds }: Engine, id: string): Carriage {
  const { header = '', scheme = '' } = tokenKinds.get(id) ?? {}
  return { header, scheme }
}
