/** The links of the control panel's pages. */
import { type PanelPage, type Route, SECRET } from './link.ts'

export type { PanelPage, Route }

/** The page after logging in, and wherever a link leads nowhere. */
export const FIRST_ROUTE: Route = { page: 'overview', given: {} }

/** The link of a route. Empty values are left out. */
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
