/** The question of an administration command before it destroys a record: its subject, and its effects. */
import type { DirectoryClient } from '../../../clients/typescript/index.ts'
import type { Permission } from '../../../proto/gen/portcullis/v1/directory.ts'
import { counted } from '../terminal/output.ts'
import { countOf, everyPage } from './listed-pages.ts'
import { lossesOf, type Rights, raisesRights } from './losses.ts'

interface Rightful {
  readonly permission?: readonly string[]
  readonly role?: readonly string[]
  readonly owner?: boolean
}

/** Counts first, so that a mistyped number is noticed. */
export async function deleteAccount(directory: DirectoryClient, [account = '']: string[]): Promise<string> {
  const [projects, machines, people] = await Promise.all([
    countOf(everyPage((page) => directory.listProjects({ ...page, account }), 'projects')),
    countOf(everyPage((page) => directory.listServiceUsers({ ...page, account }), 'users')),
    countOf(everyPage((page) => directory.listControlPanelUsers({ ...page, account }), 'users')),
  ])
  return `Delete account ${account} with ${counted(projects, 'project')} and ${counted(machines + people, 'user')}?`
}

export async function deleteProject(_directory: unknown, [account, name]: string[]): Promise<string> {
  return `Delete project ${name} of account ${account}? Tokens for it stop working.`
}

export function deleteUser(what: string) {
  return async (_directory: unknown, [account, name]: string[]): Promise<string> =>
    `Delete ${what} ${name} of account ${account}? The tokens of the user stop working.`
}

export function disable(what: string) {
  return async (_directory: unknown, [account, name]: string[]): Promise<string> =>
    name === undefined
      ? `Disable account ${account}? Its tokens open nothing until it is enabled again.`
      : `Disable ${what} ${name} of account ${account}? ${DISABLED[what]}`
}

const DISABLED: Readonly<Record<string, string>> = {
  project: 'Tokens for it open nothing until it is enabled again.',
  'service user': 'The tokens of the user stop working.',
  'control panel user': 'The tokens of the user open nothing until the user is enabled again.',
}

/** Only where the user loses something, or their factors end. */
export async function updateServiceUser(
  directory: DirectoryClient,
  [account = '', name = '']: string[],
  { permission, role }: Rightful,
): Promise<string | undefined> {
  const { user } = await directory.getServiceUser({ account, name })
  const before = { permissions: user?.permissions.map(permissionOf), roles: user?.roles }
  const after = { permissions: permission && permissionsOf(permission), roles: role }
  return aboutChange(before, after, `service user ${name} of account ${account}`, NEW_PASSWORD)
}

/** Only where the user loses something, or their factors end. */
export async function updateControlPanelUser(
  directory: DirectoryClient,
  [account = '', name = '']: string[],
  { owner, role }: Rightful,
): Promise<string | undefined> {
  const { user } = await directory.getControlPanelUser({ account, name })
  const before = { owner: user?.owner, roles: user?.roles }
  const whom = `control panel user ${name} of account ${account}`
  return aboutChange(before, { owner, roles: role }, whom, 'an invitation')
}

/** Only where the user is not one yet. */
export async function grantValidator(
  directory: DirectoryClient,
  [account = '', name = '']: string[],
): Promise<string | undefined> {
  const { user } = await directory.getServiceUser({ account, name })
  const whom = `service user ${name} of account ${account}`
  return aboutChange({ validator: user?.validator }, { validator: true }, whom, NEW_PASSWORD)
}

export async function withdrawValidator(_directory: unknown, [account, name]: string[]): Promise<string> {
  return `Withdraw the right to validate tokens from service user ${name} of account ${account}? Programs that validate tokens of other accounts as this user stop working.`
}

export async function replacePassword(_directory: unknown, [account, name]: string[]): Promise<string> {
  return `Replace the password of service user ${name} of account ${account}? The tokens of the user stop working.`
}

export async function reissueToken(
  _directory: unknown,
  [account, name]: string[],
  { project }: { readonly project?: string },
): Promise<string> {
  const scope = project === undefined ? 'the account' : `project ${project}`
  return `Reissue the IAM token of control panel user ${name} of account ${account} for ${scope}? The earlier one stops working.`
}

export async function revokeStaticToken(
  _directory: unknown,
  [account, user, name]: string[],
): Promise<string> {
  return `Revoke static token ${name} of user ${user} of account ${account}? It never works again.`
}

export async function deleteApplicationCredential(
  _directory: unknown,
  [account, user, id]: string[],
): Promise<string> {
  return `Delete application credential ${id} of user ${user} of account ${account}? It and its tokens stop working.`
}

/** Only where it locks out callers on the machine of the sidecar, such as this command. */
export async function restrictAddresses(
  account: string,
  texts: readonly string[],
): Promise<string | undefined> {
  const { isAllowed, readRange } = await import('../../authority/addresses.ts')
  const readings = texts.map(readRange)
  // The sidecar refuses a range that cannot be read.
  if (!readings.every((reading) => reading.ok)) return undefined
  const ranges = readings.map(({ range }) => range)
  return isAllowed(HERE, ranges)
    ? undefined
    : `Restrict account ${account} to ${ranges.join(', ')}? That locks out callers on the machine of the sidecar, which have the address ${HERE}.`
}

/** The address of a caller over loopback or a Unix socket. */
const HERE = '127.0.0.1'

const NEW_PASSWORD = 'a new password'

/** @param needed what the user logs in with once their rights have risen */
function aboutChange(before: Rights, after: Rights, whom: string, needed: string): string | undefined {
  const losses = lossesOf(before, after)
  const texts = [
    ...(losses.length > 0
      ? [`Take ${losses.join(', ')} from ${whom}? Tokens based on that stop working.`]
      : []),
    ...(raisesRights(before, after)
      ? [
          `Raise the rights of ${whom}? The user can no longer log in with the current credentials, and needs ${needed}.`,
        ]
      : []),
  ]
  return texts.length === 0 ? undefined : texts.join('\n')
}

/** As a directory file writes it. */
function permissionOf({ scope, projects }: Permission): NonNullable<Rights['permissions']>[number] {
  return scope === 1 ? { scope: 'account' } : { scope: 'projects', projects }
}

function permissionsOf(texts: readonly string[]): NonNullable<Rights['permissions']> {
  return texts.map((text) =>
    text === 'account'
      ? { scope: 'account' }
      : { scope: 'projects', projects: [text.replace(/^project:/, '')] },
  )
}
