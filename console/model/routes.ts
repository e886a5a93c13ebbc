/**
 * The routes of the control panel, beside the views of the explorer: `#/iam/service-users?user=ci`. A secret of an invitation or of a
 * login link is read once and is in no address afterwards.
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
] as const

export type PanelPage = (typeof PANEL_PAGES)[number]

export interface Route {
  readonly page: PanelPage
  /** What stands behind `?`: names of this page's own choosing. Never a secret. */
  readonly given: Readonly<Record<string, string>>
}

/** The page after logging in, and wherever a link leads nowhere. */
export const FIRST_ROUTE: Route = { page: 'overview', given: {} }

/** Longest value that is kept in a link. */
const VALUE_LENGTH_MAX = 500

/** Name of the secret in a link that somebody was given. */
const SECRET = 'secret'

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

/** The link of a route. What is empty is left out. */
export function hashOfRoute({ page, given }: Route): string {
  const query = Object.entries(given)
    .filter(([name, value]) => value !== '' && name !== SECRET)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value.toWellFormed())}`)
    .join('&')
  return `#/${page}${query === '' ? '' : `?${query}`}`
}

/** A link to a page, for `href`. */
export function linkTo(page: PanelPage, given: Route['given'] = {}): string {
  return hashOfRoute({ page, given })
}

/** The secret of a link that somebody was given, and the link without it. */
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
