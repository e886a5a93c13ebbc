/**
 * An account with people and their tokens, made by an authority in this process; and what can befall them.
 */
import { compile, type Reason } from '../../../engine/index.ts'
import { supportMatrix } from '../../../matrix/index.ts'
import { applyFile } from '../../../sidecar/authority/administration/directory-file.ts'
import { type OpenedAuthority, openEmbeddedAuthority } from '../../../sidecar/authority/open-authority.ts'
import { FailedLogins } from '../../../sidecar/authority/throttle.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import type { SharedDirectory } from '../../../sidecar/directory/open-directory.ts'
import { run } from '../../../sidecar/usecases/administration/run.ts'
import { TESTER } from '../sidecar/actor.ts'
import type { Host } from './host.ts'

const SHIPPED = compile(supportMatrix)
const { tokenKinds } = SHIPPED

/** The kind of tokens for a project. */
export function projectKind() {
  const kind = tokenKinds.get('iam_token_project_scoped')
  if (kind === undefined) throw new TypeError('the shipped matrix has no such kind')
  return kind
}

/** For each sort of token an API that takes it, and its header. */
export const TAKEN_BY = {
  account: ['balance', 'X-Auth-Token'],
  project: ['cloud-projects', 'X-Auth-Token'],
  static: ['reports', 'X-Token'],
} as const

export type TokenSort = keyof typeof TAKEN_BY

/** Opens the authority on a data folder, as another process than the sidecar does. */
export function openAuthority(folder: string, shared?: SharedDirectory): Promise<OpenedAuthority> {
  return openEmbeddedAuthority({
    folder,
    shared,
    engine: () => SHIPPED,
    passwordLimits: { concurrent: 2, waiting: 1000, rememberMs: 0 },
    onKeysRefused: () => {},
    onKeysUnreadable: () => {},
    onDirectoryReplaced: () => {},
    onUnknownKey: () => {},
    onDirectoryLost: () => {},
    onForeignStaticTokens: () => {},
    failedLogins: new FailedLogins({ failures: 10, pauseMs: 1 }, Date.now),
    now: Date.now,
  })
}

export interface Scene {
  readonly account: string
  readonly tokens: Readonly<Record<TokenSort, string>>
  readonly password: string
}

let scenes = 0

/**
 * A new account: the project alpha, the service users `robot` (whole account) and `builder` (alpha), the
 * control panel user `owner`.
 */
export async function newScene(opened: OpenedAuthority): Promise<Scene> {
  const account = `${process.pid}-${scenes++}`
  const { secrets } = await applyFile(opened.administration, TESTER, {
    accounts: [
      {
        account,
        projects: ['alpha'],
        service_users: [
          { name: 'robot', permissions: [{ scope: 'account' }] },
          { name: 'builder', permissions: [{ scope: 'projects', projects: ['alpha'] }] },
        ],
        control_panel_users: [{ name: 'owner', static_tokens: ['key'] }],
      },
    ],
  })
  const secretOf = (user: string) => secrets.find((secret) => secret.user === user)?.value.reveal() ?? ''
  const password = secretOf('robot')
  const [ofAccount, ofProject] = await Promise.all([
    issueTo(opened, account, password),
    issueTo(opened, account, secretOf('builder'), 'builder', 'alpha'),
  ])
  return { account, password, tokens: { account: ofAccount, project: ofProject, static: secretOf('owner') } }
}

/** A token of a service user, for the account or for a project. */
export async function issueTo(
  { authority }: OpenedAuthority,
  account: string,
  password: string,
  userName = 'robot',
  project?: string,
): Promise<string> {
  const kind = tokenKinds.get(project === undefined ? 'iam_token_account_scoped' : 'iam_token_project_scoped')
  if (kind === undefined) throw new TypeError('the shipped matrix has no such kind')
  const requester = { account, userName, password: new Secret(password) }
  const { value } = await authority.issue(requester, kind, { account, ...(project && { project }) })
  return value.reveal()
}

/** The id of an active token. */
export async function tokenIdOf({ authority }: OpenedAuthority, value: string): Promise<string> {
  const verification = await authority.verify(value, tokenKinds)
  if (!verification.ok) throw new Error(verification.reason)
  return verification.token.tokenId
}

/** A host's answer about a token at an API that takes its sort. */
export async function ask({ client }: Host, sort: TokenSort, value: string): Promise<Reason | 'UNSPECIFIED'> {
  const [api, header] = TAKEN_BY[sort]
  const { allowed, reason } = await client.check({ api, credentials: [[header, value]] })
  if (allowed !== (reason === 'ALLOWED')) throw new Error(`allowed is ${allowed}, and the reason ${reason}`)
  return reason
}

/** Changes after which a token is denied, each with the token and the reason. */
export const DENYING: readonly [
  change: string,
  sort: TokenSort,
  reason: Reason,
  apply: (opened: OpenedAuthority, scene: Scene) => Promise<unknown>,
][] = [
  [
    'the password is replaced',
    'account',
    'CREDENTIAL_REVOKED',
    ({ administration }, { account }) =>
      run(administration, TESTER, 'replaceServiceUserPassword', { account, name: 'robot' }),
  ],
  [
    'the token is revoked',
    'account',
    'CREDENTIAL_REVOKED',
    async (opened, { account, tokens }) => {
      const tokenId = await tokenIdOf(opened, tokens.account)
      await opened.administration.directory.change(TESTER, (change) => change.revoke(tokenId, account))
    },
  ],
  [
    'the user is disabled',
    'account',
    'CREDENTIAL_REVOKED',
    ({ administration }, { account }) =>
      run(administration, TESTER, 'updateServiceUser', { account, name: 'robot', enabled: false }),
  ],
  [
    'the user is deleted',
    'project',
    'CREDENTIAL_REVOKED',
    ({ administration }, { account }) =>
      run(administration, TESTER, 'deleteServiceUser', { account, name: 'builder' }),
  ],
  [
    'the permission is taken away',
    'project',
    'CREDENTIAL_REVOKED',
    ({ administration }, { account }) =>
      run(administration, TESTER, 'updateServiceUser', { account, name: 'builder', permissions: [] }),
  ],
  [
    'the project is disabled',
    'project',
    'CREDENTIAL_REVOKED',
    ({ administration }, { account }) =>
      run(administration, TESTER, 'updateProject', { account, name: 'alpha', enabled: false }),
  ],
  [
    'the project is deleted',
    'project',
    'CREDENTIAL_REVOKED',
    ({ administration }, { account }) =>
      run(administration, TESTER, 'deleteProject', { account, name: 'alpha' }),
  ],
  [
    'the account is disabled',
    'static',
    'CREDENTIAL_REVOKED',
    ({ administration }, { account }) =>
      run(administration, TESTER, 'updateAccount', { account, enabled: false }),
  ],
  [
    'the account is deleted',
    'account',
    'CREDENTIAL_REVOKED',
    ({ administration }, { account }) => run(administration, TESTER, 'deleteAccount', { account }),
  ],
  [
    'the static token is revoked',
    'static',
    'CREDENTIAL_REVOKED',
    ({ administration }, { account }) =>
      run(administration, TESTER, 'revokeStaticToken', { account, userName: 'owner', name: 'key' }),
  ],
  [
    'the control panel user is disabled',
    'static',
    'CREDENTIAL_REVOKED',
    ({ administration }, { account }) =>
      run(administration, TESTER, 'updateControlPanelUser', { account, name: 'owner', enabled: false }),
  ],
  [
    'addresses are restricted',
    'static',
    'ADDRESS_NOT_ALLOWED',
    ({ administration }, { account }) =>
      run(administration, TESTER, 'setAddressRestriction', { account, ranges: ['192.0.2.0/24'] }),
  ],
]
