/** Mutants of the identity endpoint's use cases, and of the shadow's, that no test can kill. */
import { SOME_TEXT, type Survivor, survivors } from './survivor.ts'

export const OF_IDENTITY: readonly Survivor[] = [
  ...survivors(
    'sidecar/usecases/identity/identity-log-in.ts',
    'Only whether there is a project says which kind it is.',
    ["const kind = kindForScope({ account: '', project: '' }, engine.tokenKinds.values())", "''", SOME_TEXT],
  ),
  ...survivors(
    'sidecar/usecases/identity/identity-token.ts',
    'Only whether there is a project says which kind it is.',
    ["const ofAccount = kindForScope({ account: '' }, engine.tokenKinds.values())", "{ account: '' }", '{}'],
    ["const ofAccount = kindForScope({ account: '' }, engine.tokenKinds.values())", "''", SOME_TEXT],
  ),
  ...survivors(
    'sidecar/usecases/identity/identity-token.ts',
    'Such a token needs no permission, so no error names what it needs one for.',
    [
      "return { ...ofAccount, id: UNSCOPED_KIND, title: 'unscoped IAM token', permissionScopes: [] }",
      "'unscoped IAM token'",
      '""',
    ],
  ),
  ...survivors(
    'sidecar/usecases/identity/subject.ts',
    'It only spares to look up the requester once more.',
    [
      'const isWhole = requester.token.applicationCredential?.limited !== true',
      'requester.token.applicationCredential?.limited !== true',
      'false',
    ],
    [
      'isHolder(requester, token) && isWhole ? requester.user : await records.userById(token.subject.id)',
      'isHolder(requester, token) && isWhole',
      'false',
    ],
  ),
  ...survivors(
    'sidecar/usecases/identity/subject.ts',
    'A token that is not for validating is for revoking.',
    ["const { token, requester } = await activeSubject(services, question, 'revoke')", "'revoke'", '""'],
  ),
  ...survivors('sidecar/usecases/identity/subject.ts', 'An active token is there.', [
    'if (!active || token === undefined) return undefined',
    'token === undefined',
    'false',
  ]),
  ...survivors('sidecar/usecases/capabilities.ts', 'It is made at the first call then.', [
    'let current = { ...lasting, engine: rules.engine }',
    '{ ...lasting, engine: rules.engine }',
    '{}',
  ]),
  ...survivors(
    'sidecar/usecases/credential-search.ts',
    'A matrix without APIs has none, whatever its name is.',
    ["const [api = ''] = services.engine.apis.keys()", "''", SOME_TEXT],
  ),
  ...survivors('sidecar/usecases/credential-search.ts', 'A token that is verified is there.', [
    'if (token === undefined || !verified) return { token, denial: decision, opens: () => false }',
    'token === undefined',
    'false',
  ]),
  ...survivors('sidecar/usecases/shadow-pair.ts', 'A token that is verified is there.', [
    'if (!verified || token === undefined) return undefined',
    'token === undefined',
    'false',
  ]),
  ...survivors(
    'sidecar/usecases/shadow-pair.ts',
    'Without a token, no kind is asked about, and none is allowed.',
    [
      'if (token !== undefined && shadow.decide({ api, ...token }).allowed) return directionOf(allowed, true)',
      'token !== undefined',
      'true',
    ],
  ),
  ...survivors('sidecar/usecases/shadow-pair.ts', 'No token begins with the text `undefined`.', [
    'if (prefix === undefined || !value.startsWith(prefix)) return false',
    'prefix === undefined',
    'false',
  ]),
  ...survivors('sidecar/usecases/shadow-pair.ts', 'No token has a space in it.', [
    "return Array.from(tokenKinds.values(), ({ prefix = '' }) => prefix)",
    "''",
    SOME_TEXT,
  ]),
  ...survivors(
    'sidecar/usecases/compared-shadow.ts',
    'The constructor replaces it before it is used.',
    ["#rulesDigest = ''", "''", SOME_TEXT],
    ['#isDefective = false', 'false', 'true'],
  ),
  ...survivors('sidecar/usecases/compared-shadow.ts', 'No account is remembered that is not there.', [
    'const known = account === undefined ? undefined : row.accounts.get(account)',
    'account === undefined',
    'false',
  ]),
]
