/** Mutants of `sidecar/usecases/administration/` that no test can kill. */
import { SOME_TEXT, type Survivor, survivors } from './survivor.ts'

export const OF_ADMINISTRATION: readonly Survivor[] = [
  ...survivors(
    'sidecar/usecases/administration/administer.ts',
    'An operation that the request alone reserves for owners changes no user. Here it keeps a new operation safe.',
    [
      'if (forOwners?.user?.(user, request)) authorizeAsOwner(requester)',
      'forOwners?.user?.(user, request)',
      'forOwners?.user(user, request)',
    ],
  ),
  ...survivors(
    'sidecar/usecases/administration/audit.ts',
    'It only spares to look at records by filters that all match.',
    [
      'return [actor, action, subject].some(Boolean) || sinceMs !== undefined || untilMs !== undefined',
      '[actor, action, subject].some(Boolean) || sinceMs !== undefined || untilMs !== undefined',
      'true',
    ],
  ),
  ...survivors(
    'sidecar/usecases/administration/matrix.ts',
    'It only spares a query: no matrix is kept that has no digest.',
    ["toMatrix: toDigest === '' ? undefined : await to(),", "toDigest === ''", 'false'],
    ["toMatrix: toDigest === '' ? undefined : await to(),", "''", SOME_TEXT],
  ),
  ...survivors(
    'sidecar/usecases/administration/tokens.ts',
    'A matrix without APIs has none of either name.',
    ["const [api = ''] = engine.apis.keys()", "''", SOME_TEXT],
  ),
  ...survivors('sidecar/usecases/administration/users.ts', 'No role of that name administers an account.', [
    'roles = [],',
    '[]',
    '["Stryker was here"]',
  ]),
]
