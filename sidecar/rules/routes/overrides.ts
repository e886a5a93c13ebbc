/**
 * Request headers from which some frameworks take another path or another method than those of the request.
 * A decision about the one is then carried out for the other.
 */

import type { RouteMatch } from './route.ts'

/** Many servers take `X_Rewrite_Url` for `X-Rewrite-URL`, because CGI writes both in the same way. */
const inBothSpellings = (...names: string[]): readonly string[] => [
  ...names,
  ...names.map((name) => name.replaceAll('-', '_')),
]

/**
 * In lower case. From a neighbour, gunicorn takes `SCRIPT_NAME` as the beginning of the path, and cuts it
 * off; so does a well-known middleware of Flask with `X-Script-Name`.
 */
export const PATH_OVERRIDES = inBothSpellings(
  'x-original-url',
  'x-rewrite-url',
  'script-name',
  'path-info',
  'x-script-name',
)

/** In lower case. */
export const METHOD_OVERRIDES = inBothSpellings(
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
)

/**
 * Whether a query has `_method`, from which filters of many frameworks take the method. PHP reads `.method`
 * in the same way.
 *
 * @param query with its question mark; empty: there is none
 */
export function overridesMethod(query: string): boolean {
  if (!/method|%/i.test(query)) return false
  return query
    .slice(1)
    .split(/[&;]/)
    .some((parameter) => METHOD_PARAMETER.test(decoded(parameter.replace(/=.*/s, ''))))
}

const METHOD_PARAMETER = /^[\s+]*[_. ]method(?:$|\[)/i

function decoded(name: string): string {
  return name.replace(/%([0-9a-f]{2})/gi, (_encoded, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}

/** The result for a request with a header that overrides its path. */
export const PATH_OVERRIDDEN = {
  refused: 'NOT_CANONICAL',
  detail: 'expected a request without a header that overrides its path',
} as const satisfies RouteMatch
