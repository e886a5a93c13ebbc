/**
 * The administration commands, a row each: what is typed, which call of `DirectoryService` it makes, and what
 * it asks first.
 */
import { Option } from 'commander'
import type { DirectoryClient } from '../../../clients/typescript/index.ts'
import type { ConfirmOptions } from '../terminal/confirm.ts'
import { usageError } from '../terminal/errors.ts'
import { type ConnectionOptions, collect } from '../terminal/output.ts'
import * as questions from './administration-questions.ts'
import { AUDIT_FILTERS, type AuditFilters, filtersOf } from './audit-filters.ts'
import { everyPage } from './listed-pages.ts'

export interface AdministrationOptions extends ConnectionOptions, ConfirmOptions, AuditFilters {
  readonly data?: string
  readonly callerTokenFile?: string
  readonly iamTokenFile?: string
  readonly permission?: readonly string[]
  readonly role?: readonly string[]
  readonly owner?: boolean
  readonly project?: string
  readonly none?: boolean
  readonly allowExcludingRequester?: boolean
  readonly page?: string
  readonly note?: string
  readonly kind?: string
  readonly oldestFirst?: boolean
}

const PERMISSION = new Option(
  '--permission <permission>',
  'account, or project:NAME; repeat for several',
).argParser(collect)
const ROLE = new Option('--role <role>', 'a role, for example iam.admin; repeat for several').argParser(
  collect,
)
const OWNER = [
  new Option('--owner', 'the user owns the account'),
  new Option('--no-owner', 'the user does not own the account'),
]
const PROJECT = new Option('--project <project>', 'the token for this project (default: for the account)')

/** A call with the values of the arguments, in their order. */
type Call<Result> = (
  directory: DirectoryClient,
  values: string[],
  options: AdministrationOptions,
) => Result | Promise<Result>

export interface Row {
  readonly group: string
  readonly verb: string
  /** For example `<account>`. */
  readonly arguments: readonly string[]
  readonly description: string
  /** Returns what is printed as records, or as JSON; a list page after page. */
  readonly call: Call<object>
  /** Those that only some of the commands have. */
  readonly options: readonly Option[]
  /** The options of the command's example. */
  readonly example?: readonly string[]
  /** The question before the call; `undefined` where it would destroy nothing. */
  readonly question?: Call<string | undefined>
}

export const ROWS: readonly Row[] = [
  row('account create <account>', 'Create an account, as an operator.', (directory, [account = '']) =>
    directory.createAccount({ account }),
  ),
  row('account list', 'List the accounts, as an operator.', (directory) =>
    everyPage((page) => directory.listAccounts(page), 'accounts'),
  ),
  row('account show <account>', 'Show an account.', (directory, [account = '']) =>
    directory.getAccount({ account }),
  ),
  ...enabling('account', 'account', '<account>', (directory, [account = ''], enabled) =>
    directory.updateAccount({ account, enabled }),
  ),
  row(
    'account delete <account>',
    'Delete an account with everything in it, as an operator.',
    (directory, [account = '']) => directory.deleteAccount({ account }),
    { question: questions.deleteAccount },
  ),

  row('project create <account> <name>', 'Create a project.', (directory, [account = '', name = '']) =>
    directory.createProject({ account, name }),
  ),
  row('project list <account>', 'List the projects of an account.', (directory, [account = '']) =>
    everyPage((page) => directory.listProjects({ ...page, account }), 'projects'),
  ),
  row('project show <account> <name>', 'Show a project.', (directory, [account = '', name = '']) =>
    directory.getProject({ account, name }),
  ),
  ...enabling('project', 'project', '<account> <name>', (directory, [account = '', name = ''], enabled) =>
    directory.updateProject({ account, name, enabled }),
  ),
  row(
    'project delete <account> <name>',
    'Delete a project.',
    (directory, [account = '', name = '']) => directory.deleteProject({ account, name }),
    { question: questions.deleteProject },
  ),

  row(
    'service-user create <account> <name>',
    'Create a service user, and show the password once.',
    (directory, [account = '', name = ''], { permission = [], role = [] }) =>
      directory.createServiceUser({
        account,
        name,
        permissions: permissionsOf(permission),
        roles: [...role],
      }),
    { options: [PERMISSION, ROLE], example: ['--permission', 'project:alpha'] },
  ),
  row('service-user list <account>', 'List the service users of an account.', (directory, [account = '']) =>
    everyPage((page) => directory.listServiceUsers({ ...page, account }), 'users'),
  ),
  row('service-user show <account> <name>', 'Show a service user.', (directory, [account = '', name = '']) =>
    directory.getServiceUser({ account, name }),
  ),
  row(
    'service-user update <account> <name>',
    'Replace all permissions, or all roles, of a service user. If iam.admin is new, the password ends.',
    (directory, [account = '', name = ''], { permission, role }) =>
      directory.updateServiceUser({
        account,
        name,
        ...(permission && { permissions: { permissions: permissionsOf(permission) } }),
        ...(role && { roles: { roles: [...role] } }),
      }),
    {
      options: [PERMISSION, ROLE],
      example: ['--permission', 'project:alpha'],
      question: questions.updateServiceUser,
    },
  ),
  ...enabling(
    'service-user',
    'service user',
    '<account> <name>',
    (directory, [account = '', name = ''], enabled) =>
      directory.updateServiceUser({ account, name, enabled }),
  ),
  row(
    'service-user replace-password <account> <name>',
    'Replace the password and show the new one once. Tokens that were obtained with the old one stop working.',
    (directory, [account = '', name = '']) => directory.replaceServiceUserPassword({ account, name }),
    { question: questions.replacePassword },
  ),
  row(
    'service-user grant-validator <account> <name>',
    'Let a service user validate the tokens of every account, as an operator. The password ends: replace it.',
    (directory, [account = '', name = '']) =>
      directory.setServiceUserValidator({ account, name, validator: true }),
    { question: questions.grantValidator },
  ),
  row(
    'service-user withdraw-validator <account> <name>',
    'Withdraw the right to validate tokens from a service user, as an operator.',
    (directory, [account = '', name = '']) =>
      directory.setServiceUserValidator({ account, name, validator: false }),
    { question: questions.withdrawValidator },
  ),
  row(
    'service-user delete <account> <name>',
    'Delete a service user.',
    (directory, [account = '', name = '']) => directory.deleteServiceUser({ account, name }),
    { question: questions.deleteUser('service user') },
  ),

  row(
    'control-panel-user create <account> <name>',
    'Create a control panel user.',
    (directory, [account = '', name = ''], { owner = false, role = [] }) =>
      directory.createControlPanelUser({ account, name, owner, roles: [...role] }),
    { options: [ROLE, ...OWNER], example: ['--owner'] },
  ),
  row(
    'control-panel-user list <account>',
    'List the control panel users of an account.',
    (directory, [account = '']) =>
      everyPage((page) => directory.listControlPanelUsers({ ...page, account }), 'users'),
  ),
  row(
    'control-panel-user show <account> <name>',
    'Show a control panel user.',
    (directory, [account = '', name = '']) => directory.getControlPanelUser({ account, name }),
  ),
  row(
    'control-panel-user update <account> <name>',
    'Set whether a control panel user owns the account, or replace all roles. A user who gains rights by this needs an invitation.',
    (directory, [account = '', name = ''], { owner, role }) =>
      directory.updateControlPanelUser({
        account,
        name,
        ...(owner !== undefined && { owner }),
        ...(role && { roles: { roles: [...role] } }),
      }),
    { options: [ROLE, ...OWNER], example: ['--owner'], question: questions.updateControlPanelUser },
  ),
  ...enabling(
    'control-panel-user',
    'control panel user',
    '<account> <name>',
    (directory, [account = '', name = ''], enabled) =>
      directory.updateControlPanelUser({ account, name, enabled }),
  ),
  row(
    'control-panel-user copy-token <account> <name>',
    'Show the IAM token of a control panel user again. For testing only.',
    async (directory, [account = '', name = ''], { project = '' }) => {
      const { token } = await directory.copyControlPanelUserToken({ account, name, project })
      return { token: token && sendable(token) }
    },
    { options: [PROJECT] },
  ),
  row(
    'control-panel-user reissue-token <account> <name>',
    'Make a new IAM token for a control panel user; the earlier one stops working. For testing only.',
    async (directory, [account = '', name = ''], { project = '' }) => {
      const { token } = await directory.reissueControlPanelUserToken({ account, name, project })
      return { token: token && sendable(token) }
    },
    { options: [PROJECT], question: questions.reissueToken },
  ),
  row(
    'control-panel-user delete <account> <name>',
    'Delete a control panel user.',
    (directory, [account = '', name = '']) => directory.deleteControlPanelUser({ account, name }),
    { question: questions.deleteUser('control panel user') },
  ),

  row(
    'control-panel-user invite <account> <name>',
    'Create an invitation, with which a control panel user sets a password for the page. It works once, for a day.',
    async (directory, [account = '', userName = ''], { page }) => {
      const url = page === undefined ? undefined : pageUrlOf(page)
      const { secret, expiresAt } = await directory.createInvitation({ account, userName })
      return url === undefined
        ? { secret, expiresAt }
        : { link: `${url}/console/#/invitation?secret=${secret}`, expiresAt }
    },
    {
      options: [
        new Option('--page <page>', 'URL of the server with the page: print the link in place of the secret'),
      ],
    },
  ),

  row(
    'session list <account> <user>',
    'List the sessions of a control panel user on the page.',
    (directory, [account = '', userName = '']) =>
      everyPage((page) => directory.listSessions({ ...page, account, userName }), 'sessions'),
  ),
  row(
    'session end <account> <user> <session>',
    'End a session of a control panel user.',
    (directory, [account = '', userName = '', id = '']) => directory.endSession({ account, userName, id }),
  ),

  row(
    'static-token create <account> <user> <name>',
    'Create a static token of a control panel user, and show its value once.',
    async (directory, [account = '', userName = '', name = ''], { note = '', kind = '' }) =>
      sendable(await directory.createStaticToken({ account, userName, name, note, kind })),
    {
      options: [
        new Option('--note <text>', 'what the token is for, for the list and the audit trail'),
        new Option('--kind <kind>', 'id of its kind, if several are obtained in the control panel'),
      ],
    },
  ),
  row(
    'static-token list <account> <user>',
    'List the static tokens of a control panel user: the last four characters of each, and no values.',
    (directory, [account = '', userName = '']) =>
      everyPage((page) => directory.listStaticTokens({ ...page, account, userName }), 'tokens'),
  ),
  row(
    'static-token revoke <account> <user> <name>',
    'Revoke a static token.',
    (directory, [account = '', userName = '', name = '']) =>
      directory.revokeStaticToken({ account, userName, name }),
    { question: questions.revokeStaticToken },
  ),

  row(
    'application-credential list <account> <user>',
    'List the application credentials of a service user, without their secrets.',
    (directory, [account = '', userName = '']) =>
      everyPage(
        (page) => directory.listApplicationCredentials({ ...page, account, userName }),
        'credentials',
      ),
  ),
  row(
    'application-credential delete <account> <user> <id>',
    'Delete an application credential of a service user. Its tokens stop working.',
    (directory, [account = '', userName = '', id = '']) =>
      directory.deleteApplicationCredential({ account, userName, id }),
    { question: questions.deleteApplicationCredential },
  ),

  row(
    'address-restriction show <account>',
    'Show the address ranges that the tokens of an account are restricted to.',
    (directory, [account = '']) => directory.getAddressRestriction({ account }),
  ),
  row(
    'address-restriction set <account> [range...]',
    'Replace all address ranges of an account, as an owner or an operator.',
    async (directory, [account = '', ...ranges], options) => {
      expectRangesOrNone(ranges, options)
      const { allowExcludingRequester = false } = options
      return directory.setAddressRestriction({ account, ranges, allowExcludingRequester })
    },
    {
      options: [
        new Option('--none', 'remove the restriction'),
        new Option(
          '--allow-excluding-requester',
          'set ranges that exclude the address that this command comes from',
        ),
      ],
      question: async (_directory, [account = '', ...ranges], options) => {
        expectRangesOrNone(ranges, options)
        return questions.restrictAddresses(account, ranges)
      },
    },
  ),
  row(
    'address-restriction preview <account> <range...>',
    'Show who would be shut out by address ranges, as far as their addresses are known. Nothing is changed.',
    (directory, [account = '', ...ranges]) => directory.previewAddressRestriction({ account, ranges }),
  ),

  row(
    'revocation list',
    'List the revoked tokens that may still be presented, as an operator.',
    (directory) => everyPage((page) => directory.listRevocations(page), 'revocations'),
  ),

  row(
    'audit list [account]',
    'List who changed what, and when, newest first. All accounts, as an operator, where none is given.',
    (directory, [account = ''], { oldestFirst = false, ...filters }) =>
      everyPage(
        (page) =>
          directory.listAuditRecords({
            ...page,
            account,
            ...filtersOf(filters),
            newestFirst: !oldestFirst,
          }),
        'records',
      ),
    {
      options: [
        ...AUDIT_FILTERS,
        new Option('--oldest-first', 'begin with the oldest change (default: with the newest)'),
      ],
    },
  ),
]

/** @param command group, verb and arguments: `project create <account> <name>` */
function row(
  command: string,
  description: string,
  call: Row['call'],
  more: Partial<Pick<Row, 'options' | 'example' | 'question'>> = {},
): Row {
  const [group = '', verb = '', ...names] = command.split(' ')
  return { group, verb, arguments: names, description, call, options: [], ...more }
}

/** The commands `enable` and `disable` of a group. @param what what they are about, in words */
function enabling(
  group: string,
  what: string,
  names: string,
  call: (directory: DirectoryClient, values: string[], enabled: boolean) => Promise<object>,
): Row[] {
  const article = /^[aeiou]/.test(what) ? 'an' : 'a'
  return [
    row(`${group} enable ${names}`, `Enable ${article} ${what}.`, (directory, values) =>
      call(directory, values, true),
    ),
    row(
      `${group} disable ${names}`,
      `Disable ${article} ${what}.`,
      (directory, values) => call(directory, values, false),
      { question: questions.disable(what) },
    ),
  ]
}

/** The URL without a slash at its end. */
function pageUrlOf(text: string): string {
  if (!/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(text))
    throw usageError('--page: expected the URL of the page, for example https://panel.example')
  return text.replace(/\/+$/, '')
}

function expectRangesOrNone(ranges: readonly string[], { none = false }: AdministrationOptions): void {
  if (none === ranges.length > 0) throw usageError('expected at least one range, or --none')
}

/** @param texts `account`, and `project:NAME` for each project */
function permissionsOf(texts: readonly string[]): { scope: 1 | 2; projects: string[] }[] {
  const projects = texts
    .filter((text) => text.startsWith('project:'))
    .map((text) => text.slice('project:'.length))
  const unknown = texts.find((text) => text !== 'account' && !text.startsWith('project:'))
  if (unknown !== undefined) throw usageError('--permission: expected account or project:NAME')
  return [
    ...(texts.includes('account') ? [{ scope: 1 as const, projects: [] }] : []),
    ...(projects.length > 0 ? [{ scope: 2 as const, projects }] : []),
  ]
}

/** A token, with the scheme before it where its kind has one. */
function sendable<T extends { readonly scheme: string }>({ scheme, ...others }: T): object {
  return scheme === '' ? others : { ...others, scheme }
}
