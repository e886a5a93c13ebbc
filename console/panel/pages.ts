/**
 * The pages of the control panel: each is a separate chunk. A page of this table is in the menu of the
 * users who may see it.
 */
import type { ComponentType } from 'preact'
import type { PanelPage } from '../model/routes.ts'

type Loaded = Promise<ComponentType>

export const PAGES: Readonly<Partial<Record<PanelPage, () => Loaded>>> = {
  overview: async () => (await import('./pages/overview.tsx')).OverviewPage,
  'operator/accounts': async () => (await import('./pages/operator-accounts.tsx')).OperatorAccountsPage,
  'operator/callers': async () => (await import('./pages/operator-callers.tsx')).OperatorCallersPage,
  'operator/decisions': async () => (await import('./pages/operator-decisions.tsx')).OperatorDecisionsPage,
  'operator/matrix': async () => (await import('./pages/operator-matrix.tsx')).OperatorMatrixPage,
  'operator/keys': async () => (await import('./pages/operator-keys.tsx')).OperatorKeysPage,
  'profile/access/keys': async () => (await import('./pages/api-keys.tsx')).ApiKeysPage,
  'profile/access/tokens': async () => (await import('./pages/iam-tokens.tsx')).IamTokensPage,
  'profile/sessions': async () => (await import('./pages/sessions.tsx')).SessionsPage,
  'profile/security': async () => (await import('./pages/security.tsx')).SecurityPage,
  'iam/service-users': async () => (await import('./pages/service-users.tsx')).ServiceUsersPage,
  'iam/users': async () => (await import('./pages/users.tsx')).UsersPage,
  projects: async () => (await import('./pages/projects.tsx')).ProjectsPage,
  'access-limits': async () => (await import('./pages/access-limits.tsx')).AccessLimitsPage,
  audit: async () => (await import('./pages/audit.tsx')).AuditPage,
}

/** The pages that exist. */
export const THERE = Object.keys(PAGES) as readonly PanelPage[]
