/**
 * The tokens that a service user may obtain, by its permissions (§5.1), and the APIs that they open, by the
 * rules of the page (§5.4). It has no rule: the engine was asked about every cell when it was made.
 */
import type { Engine, TokenKind } from '../../../engine/index.ts'
import { type Permission, PermissionScope } from './iam-records.ts'

interface OpenedApi {
  readonly id: string
  readonly title: string
  /** The source contradicts itself about it. */
  readonly contested: boolean
}

/**
 * - `yes`: for the account, or for every project of it
 * - `selected`: for the projects that are selected
 * - `permission`: not with these permissions
 * - `holder`: service users do not get this kind
 */
type Obtains = 'yes' | 'selected' | 'permission' | 'holder'

export interface ObtainedKind {
  readonly kind: TokenKind
  readonly obtains: Obtains
  /** Names of the projects, where only selected ones count. */
  readonly projects: readonly string[]
  /** The APIs that a token of the kind opens, in the order of the matrix. */
  readonly opens: readonly OpenedApi[]
}

const SERVICE_USER = 'service_user'

/** Every kind of the matrix, the ones that the user obtains first. */
export function obtainsOf(
  engine: Pick<Engine, 'apis' | 'tokenKinds'>,
  permissions: readonly Pick<Permission, 'scope' | 'projects'>[],
): readonly ObtainedKind[] {
  const account = permissions.some(({ scope }) => scope === PermissionScope.PERMISSION_SCOPE_ACCOUNT)
  const selected = [
    ...new Set(
      permissions.flatMap(({ scope, projects }) =>
        scope === PermissionScope.PERMISSION_SCOPE_PROJECTS ? projects : [],
      ),
    ),
  ]
  const kinds = [...engine.tokenKinds.values()].map((kind): ObtainedKind => {
    const obtains = obtainsKind(kind, account, selected.length > 0)
    return { kind, obtains, projects: obtains === 'selected' ? selected : [], opens: openedBy(engine, kind) }
  })
  const mayObtain = ({ obtains }: ObtainedKind) => obtains === 'yes' || obtains === 'selected'
  return [...kinds.filter(mayObtain), ...kinds.filter((each) => !mayObtain(each))]
}

function obtainsKind(kind: TokenKind, account: boolean, projects: boolean): Obtains {
  if (kind.obtained.by !== 'issue' || kind.issuedTo !== SERVICE_USER) return 'holder'
  if (kind.permissionScopes.length === 0 || (account && kind.permissionScopes.includes('account')))
    return 'yes'
  return projects && kind.permissionScopes.includes('projects') ? 'selected' : 'permission'
}

function openedBy({ apis }: Pick<Engine, 'apis'>, { id: kind }: TokenKind): OpenedApi[] {
  return [...apis.values()]
    .filter(({ accepted }) => accepted.some((each) => each.kind === kind))
    .map(({ id, title, contested }) => ({ id, title, contested: contested.includes(kind) }))
}
