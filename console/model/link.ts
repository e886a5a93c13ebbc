/**
 * Where a link of the control panel leads: `#/iam/service-users?user=ci`. The first view needs to know it, so
 * it is apart from what makes links. A secret of an invitation or of a login link is read once and is in no
 * address afterwards.
 */

export const PANEL_PAGES = [
  'login',
  'invitation',
  'link',
  'overview',
  'profile/access/keys',
  'profile/access/tokens',
  'profile/security',
  'profile/sessions',
  'iam/service-users',
  'iam/users',
  'projects',
  'access-limits',
  'audit',
  'operator/accounts',
  'operator/callers',
  'operator/keys',
  'operator/decisions',
  'operator/matrix',
] as const

export type PanelPage = (typeof PANEL_PAGES)[number]

export interface Route {
  readonly page: PanelPage
  /** The parameters behind `?`: names of this page's own choosing. Never a secret. */
  readonly given: Readonly<Record<string, string>>
}

/** Longest value that is kept in a link. */
const VALUE_LENGTH_MAX = 500

/** Name of the secret in a link that a user was given. */
export const SECRET = 'secret'

/** Pages whose links carry a secret. */
const WITH_SECRET: readonly PanelPage[] = ['invitation', 'link']

/** Reads a link. @returns `undefined`: it is the explorer's */
export function routeOf(hash: string): Route | undefined {
  const { path, query } = partsOf(hash)
  const page = PANEL_PAGES.find((each) => each === path)
  if (page === undefined) return undefined
  const given: Record<string, string> = {}
  for (const [name, value] of new URLSearchParams(query))
    if (name !== SECRET && value !== '') given[name] = value.slice(0, VALUE_LENGTH_MAX).toWellFormed()
  return { page, given }
}

/** The secret of a link that a user was given, and the link without it. */
export function secretOf(hash: string): { readonly secret: string; readonly without: string } | undefined {
  const { path, query } = partsOf(hash)
  const secret = new URLSearchParams(query).get(SECRET)
  if (!secret || !WITH_SECRET.some((each) => each === path)) return undefined
  return { secret, without: `#/${path}` }
}

function partsOf(hash: string): { readonly path: string; readonly query: string } {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s)
  return { path, query }
}
