/**
 * Request headers from which some frameworks take another path or another method than those of the request.
 * What is decided about the one is then carried out for the other.
 */

import type { RouteMatch } from './route.ts'

/** Many servers take `X_Rewrite_Url` for `X-Rewrite-URL`, because CGI writes both in the same way. */
const inBothSpellings = (...names: string[]): readonly string[] => [
  ...names,
  ...names.map((name) => name.replaceAll('-', '_')),
]

/** In lower case. */
export const PATH_OVERRIDES = inBothSpellings('x-original-url', 'x-rewrite-url')

/** In lower case. */
export const METHOD_OVERRIDES = inBothSpellings(
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
)

/** What becomes of a request with a header that overrides its path. */
export const PATH_OVERRIDDEN = {
  refused: 'NOT_CANONICAL',
  detail: 'expected a request without a header that overrides its path',
} as const satisfies RouteMatch
