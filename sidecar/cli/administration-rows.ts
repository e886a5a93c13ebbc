/** The administration commands, a row each: what is typed, and which call of `DirectoryService` is asked. */
import type { DirectoryClient } from '../client/index.ts'
import type { ConnectionOptions } from './output.ts'

export interface AdministrationOptions extends ConnectionOptions {
  readonly data?: string
  readonly callerTokenFile?: string
  readonly iamTokenFile?: string
  readonly permission?: readonly string[]
  readonly role?: readonly string[]
  readonly owner?: boolean
  readonly project?: string
  readonly none?: boolean
}

export type Flag = 'permission' | 'role' | 'owner' | 'project' | 'none'

/** One subcommand: its arguments in order, and what it asks. What it returns is printed as records, or as JSON. */
export interface Row {
  readonly group: string
  readonly verb: string
  readonly description: string
  readonly arguments: readonly string[]
  readonly flags?: readonly Flag[]
  readonly run: (
    directory: DirectoryClient,
    given: string[],
    options: AdministrationOptions,
  ) => Promise<object>
}

export const ROWS: readonly Row[] = [
  row('account', 'create', 'Open an account.', ['<account>'], (directory, [account = '']) =>
    directory.createAccount({ account }),
  ),
  row('account', 'list', 'List the accounts.', [], (directory) =>
    every((page) => directory.listAccounts(page), 'accounts'),
  ),
  row('account', 'show', 'Show an account.', ['<account>'], (directory, [account = '']) =>
    directory.getAccount({ account }),
  ),
  ...enabling('account', 'account', ['<account>'], (directory, [account = ''], enabled) =>
    directory.updateAccount({ account, enabled }),
  ),
  row(
    'account',
    'delete',
    'Delete an account with everything in it.',
    ['<account>'],
    (directory, [account = '']) => directory.deleteAccount({ account }),
  ),

  row(
    'project',
    'create',
    'Create a project.',
    ['<account>', '<name>'],
    (directory, [account = '', name = '']) => directory.createProject({ account, name }),
  ),
  row('project', 'list', 'List the projects of an account.', ['<account>'], (directory, [account = '']) =>
    every((page) => directory.listProjects({ ...page, account }), 'projects'),
  ),
  row('project', 'show', 'Show a project.', ['<account>', '<name>'], (directory, [account = '', name = '']) =>
    directory.getProject({ account, name }),
  ),
  ...enabling(
    'project',
    'project',
    ['<account>', '<name>'],
    (directory, [account = '', name = ''], enabled) => directory.updateProject({ account, name, enabled }),
  ),
  row(
    'project',
    'delete',
    'Delete a project.',
    ['<account>', '<name>'],
    (directory, [account = '', name = '']) => directory.deleteProject({ account, name }),
  ),

  row(
    'service-user',
    'create',
    'Create a service user; the password is shown this once.',
    ['<account>', '<name>'],
    (directory, [account = '', name = ''], { permission = [], role = [] }) =>
      directory.createServiceUser({
        account,
        name,
        permissions: permissionsOf(permission),
        roles: [...role],
      }),
    ['permission', 'role'],
  ),
  row(
    'service-user',
    'list',
    'List the service users of an account (§5.1).',
    ['<account>'],
    (directory, [account = '']) => every((page) => directory.listServiceUsers({ ...page, account }), 'users'),
  ),
  row(
    'service-user',
    'show',
    'Show a service user.',
    ['<account>', '<name>'],
    (directory, [account = '', name = '']) => directory.getServiceUser({ account, name }),
  ),
  row(
    'service-user',
    'update',
    'Set the permissions (all of them) or the roles (all of them) that are given.',
    ['<account>', '<name>'],
    (directory, [account = '', name = ''], { permission, role }) =>
      directory.updateServiceUser({
        account,
        name,
        ...(permission && { permissions: { permissions: permissionsOf(permission) } }),
        ...(role && { roles: { roles: [...role] } }),
      }),
    ['permission', 'role'],
  ),
  ...enabling(
    'service-user',
    'service user',
    ['<account>', '<name>'],
    (directory, [account = '', name = ''], enabled) =>
      directory.updateServiceUser({ account, name, enabled }),
  ),
  row(
    'service-user',
    'replace-password',
    'Give a new password, shown this once; tokens obtained with the old one no longer stand.',
    ['<account>', '<name>'],
    (directory, [account = '', name = '']) => directory.replaceServiceUserPassword({ account, name }),
  ),
  row(
    'service-user',
    'delete',
    'Delete a service user.',
    ['<account>', '<name>'],
    (directory, [account = '', name = '']) => directory.deleteServiceUser({ account, name }),
  ),

  row(
    'control-panel-user',
    'create',
    'Create a control panel user.',
    ['<account>', '<name>'],
    (directory, [account = '', name = ''], { owner = false, role = [] }) =>
      directory.createControlPanelUser({ account, name, owner, roles: [...role] }),
    ['owner', 'role'],
  ),
  row(
    'control-panel-user',
    'list',
    'List the control panel users of an account.',
    ['<account>'],
    (directory, [account = '']) =>
      every((page) => directory.listControlPanelUsers({ ...page, account }), 'users'),
  ),
  row(
    'control-panel-user',
    'show',
    'Show a control panel user.',
    ['<account>', '<name>'],
    (directory, [account = '', name = '']) => directory.getControlPanelUser({ account, name }),
  ),
  row(
    'control-panel-user',
    'update',
    'Make the user an owner, or set the roles (all of them).',
    ['<account>', '<name>'],
    (directory, [account = '', name = ''], { owner, role }) =>
      directory.updateControlPanelUser({
        account,
        name,
        ...(owner !== undefined && { owner }),
        ...(role && { roles: { roles: [...role] } }),
      }),
    ['owner', 'role'],
  ),
  ...enabling(
    'control-panel-user',
    'control panel user',
    ['<account>', '<name>'],
    (directory, [account = '', name = ''], enabled) =>
      directory.updateControlPanelUser({ account, name, enabled }),
  ),
  row(
    'control-panel-user',
    'copy-token',
    "Show the user's IAM token once more (§5.1). For testing only.",
    ['<account>', '<name>'],
    (directory, [account = '', name = ''], { project = '' }) =>
      directory.copyControlPanelUserToken({ account, name, project }),
    ['project'],
  ),
  row(
    'control-panel-user',
    'reissue-token',
    'Make a new IAM token for the user (§5.1); the one before no longer stands. For testing only.',
    ['<account>', '<name>'],
    (directory, [account = '', name = ''], { project = '' }) =>
      directory.reissueControlPanelUserToken({ account, name, project }),
    ['project'],
  ),
  row(
    'control-panel-user',
    'delete',
    'Delete a control panel user.',
    ['<account>', '<name>'],
    (directory, [account = '', name = '']) => directory.deleteControlPanelUser({ account, name }),
  ),

  row(
    'static-token',
    'create',
    'Create a static token (§4.2); its value is shown this once.',
    ['<account>', '<user>', '<name>'],
    (directory, [account = '', userName = '', name = '']) =>
      directory.createStaticToken({ account, userName, name }),
  ),
  row(
    'static-token',
    'list',
    "List a user's static tokens, without their values.",
    ['<account>', '<user>'],
    (directory, [account = '', userName = '']) =>
      every((page) => directory.listStaticTokens({ ...page, account, userName }), 'tokens'),
  ),
  row(
    'static-token',
    'revoke',
    'Revoke a static token.',
    ['<account>', '<user>', '<name>'],
    (directory, [account = '', userName = '', name = '']) =>
      directory.revokeStaticToken({ account, userName, name }),
  ),

  row(
    'address-restriction',
    'show',
    'Show the address ranges that an account is restricted to (§1).',
    ['<account>'],
    (directory, [account = '']) => directory.getAddressRestriction({ account }),
  ),
  row(
    'address-restriction',
    'set',
    'Set the address ranges, all of them.',
    ['<account>', '[range...]'],
    async (directory, [account = '', ...ranges], { none = false }) => {
      if (none === ranges.length > 0) throw new Error('expected at least one range, or --none')
      return directory.setAddressRestriction({ account, ranges })
    },
    ['none'],
  ),

  row('revocation', 'list', 'Show what was revoked and may still be presented.', [], (directory) =>
    every((page) => directory.listRevocations(page), 'revocations'),
  ),

  row(
    'audit',
    'list',
    'Show who changed what, and when; oldest first.',
    ['[account]'],
    (directory, [account = '']) =>
      every((page) => directory.listAuditRecords({ ...page, account }), 'records'),
  ),
]

function row(
  group: string,
  verb: string,
  description: string,
  names: readonly string[],
  run: Row['run'],
  flags: readonly Flag[] = [],
): Row {
  return { group, verb, description, arguments: names, run, flags }
}

function enabling(
  group: string,
  what: string,
  names: readonly string[],
  run: (directory: DirectoryClient, given: string[], enabled: boolean) => Promise<object>,
): Row[] {
  return [true, false].map((enabled) =>
    row(
      group,
      enabled ? 'enable' : 'disable',
      `${enabled ? 'Enable' : 'Disable'} ${/^[aeiou]/.test(what) ? 'an' : 'a'} ${what}.`,
      names,
      (directory, given) => run(directory, given, enabled),
    ),
  )
}

/** `account`, and `project:NAME` as often as there are projects. */
function permissionsOf(texts: readonly string[]): { scope: 1 | 2; projects: string[] }[] {
  const projects = texts
    .filter((text) => text.startsWith('project:'))
    .map((text) => text.slice('project:'.length))
  const unknown = texts.find((text) => text !== 'account' && !text.startsWith('project:'))
  if (unknown !== undefined) throw new Error('--permission: expected account or project:NAME')
  return [
    ...(texts.includes('account') ? [{ scope: 1 as const, projects: [] }] : []),
    ...(projects.length > 0 ? [{ scope: 2 as const, projects }] : []),
  ]
}

/** Every page of a list, as one answer. */
async function every<Key extends string>(
  list: (page: {
    pageSize: number
    pageToken: string
  }) => Promise<{ nextPageToken: string } & Record<Key, object[]>>,
  key: Key,
): Promise<object> {
  const records: object[] = []
  for (let pageToken = ''; ; ) {
    const answer = await list({ pageSize: 1000, pageToken })
    records.push(...answer[key])
    if (answer.nextPageToken === '') return { [key]: records }
    pageToken = answer.nextPageToken
  }
}
