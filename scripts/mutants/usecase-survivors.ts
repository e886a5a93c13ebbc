/** Mutants of `sidecar/usecases/` that no test can kill. */
import { SOME_TEXT, type Survivor, survivors } from './survivor.ts'

const SOME_TEXTS = '["Stryker was here"]'

export const OF_USE_CASES: readonly Survivor[] = [
  ...survivors(
    'sidecar/usecases/callers.ts',
    'It only spares the search: without a credential no user is found.',
    [
      'if (credentials.authorization.length + credentials.certificateNames.length === 0) return undefined',
      'credentials.authorization.length + credentials.certificateNames.length === 0',
      'false',
    ],
  ),
  ...survivors('sidecar/usecases/callers.ts', 'No certificate has an empty name.', [
    'caller.certificateName === undefined ? [] : [[caller.certificateName, caller]],',
    'caller.certificateName === undefined',
    'false',
  ]),
  ...survivors('sidecar/usecases/callers.ts', 'No time has come that is not there.', [
    'return expiresAtMs !== undefined && this.#now() >= expiresAtMs',
    'expiresAtMs !== undefined',
    'true',
  ]),
  ...survivors(
    'sidecar/usecases/callers.ts',
    'The constructor replaces it before it is used.',
    ['#all: readonly Caller[] = []', '[]', SOME_TEXTS],
    ['#known: readonly { readonly caller: Caller; readonly tokenDigest: Buffer }[] = []', '[]', SOME_TEXTS],
  ),
  ...survivors(
    'sidecar/usecases/check.ts',
    'Whatever the fault: a denial for an unknown API says just that.',
    ["if (!engine.apis.has(question.api)) return denied('CREDENTIAL_MISSING')", "'CREDENTIAL_MISSING'", '""'],
  ),
  ...survivors('sidecar/usecases/check.ts', 'No token begins with the text `undefined`.', [
    'if ((prefix === undefined || !value.startsWith(prefix)) && engine.tokenKinds.has(token.kind))',
    'prefix === undefined',
    'false',
  ]),
  ...survivors(
    'sidecar/usecases/check.ts',
    'It only spares to make the same places again.',
    ['if (places === undefined) {', 'places === undefined', 'true'],
    ['PLACES.set(engine, places)', 'PLACES.set(engine, places)', ';'],
  ),
  ...survivors('sidecar/usecases/egress.ts', 'A wish that is not for a scope is for APIs.', [
    "purpose: { type: 'apis', apis: [api], project },",
    "'apis'",
    '""',
  ]),
  ...survivors(
    'sidecar/usecases/egress.ts',
    'Without any kind, the denial is the same for every kind and every scope.',
    ["const [first = engine.decide({ api, kind: '', scope: { account: '0' } })] = denials", "''", SOME_TEXT],
    [
      "const [first = engine.decide({ api, kind: '', scope: { account: '0' } })] = denials",
      "{ account: '0' }",
      '{}',
    ],
    ["const [first = engine.decide({ api, kind: '', scope: { account: '0' } })] = denials", "'0'", '""'],
  ),
  ...survivors(
    'sidecar/usecases/issue.ts',
    'The two keys are exchanged, and still two.',
    [
      '? String(purpose.scope.project === undefined)',
      'purpose.scope.project === undefined',
      'purpose.scope.project !== undefined',
    ],
    [
      ': JSON.stringify([purpose.project === undefined, projectsOnly, ...purpose.apis])',
      'purpose.project === undefined',
      'purpose.project !== undefined',
    ],
  ),
  ...survivors('sidecar/usecases/issue.ts', 'No conflict bears on an API that is not there.', [
    "const cells = purpose.type === 'scope' ? [] : purpose.apis",
    '[]',
    SOME_TEXTS,
  ]),
  ...survivors(
    'sidecar/usecases/issue.ts',
    'Unknown APIs were refused before, and a known one has a list for each kind.',
    [
      'apis.every((api) => engine.apis.get(api)?.accepted.some((accepted) => accepted.kind === kind.id)),',
      'engine.apis.get(api)?.accepted',
      'engine.apis.get(api).accepted',
    ],
    [
      'const named = new Set(cells.flatMap((api) => engine.apis.get(api)?.conflicts.get(kind.id) ?? []))',
      'engine.apis.get(api)?.conflicts',
      'engine.apis.get(api).conflicts',
    ],
    [
      'const named = new Set(cells.flatMap((api) => engine.apis.get(api)?.conflicts.get(kind.id) ?? []))',
      '[]',
      SOME_TEXTS,
    ],
  ),
  ...survivors(
    'sidecar/usecases/revoke.ts',
    'An unauthenticated caller was refused before the token was looked at. Here it keeps a new ground safe.',
    ["expectGround(ground, 'not_authenticated', 'not_holder')", "'not_authenticated'", '""'],
  ),
  ...survivors(
    'sidecar/usecases/revoke.ts',
    'For all but users of upstreams, tokens of both classes rest on the same ground.',
    [
      "return asker.type === 'user_of_upstream' && asker.authority !== authority ? 'other_upstream' : 'upstream'",
      "asker.type === 'user_of_upstream'",
      'true',
    ],
  ),
  ...survivors('sidecar/usecases/revoke.ts', 'No caller administers an account that is not there.', [
    'return rights.everything || rights.revoke || (account !== undefined && rights.administer.has(account))',
    'account !== undefined',
    'true',
  ]),
  ...survivors('sidecar/usecases/roles.ts', 'No permission names a project that is not there.', [
    'return project !== undefined && permission.projects.includes(project) ? mapping.projects : []',
    'project !== undefined',
    'true',
  ]),
  ...survivors(
    'sidecar/usecases/scopes-of-user.ts',
    'A user with a permission for the account gets every project, whatever is selected.',
    [
      "user.permissions.flatMap((permission) => (permission.scope === 'projects' ? permission.projects : [])),",
      "permission.scope === 'projects'",
      'true',
    ],
    [
      "user.permissions.flatMap((permission) => (permission.scope === 'projects' ? permission.projects : [])),",
      '[]',
      SOME_TEXTS,
    ],
  ),
  ...survivors('sidecar/usecases/trace.ts', 'Its error is caught, and the line has no details either way.', [
    'more = await details?.()',
    'details?.()',
    'details()',
  ]),
  ...survivors('sidecar/usecases/call-tracing.ts', 'A span that is recorded has this field.', [
    "const { traceparent = '' } = span.fields",
    "''",
    SOME_TEXT,
  ]),
  ...survivors('sidecar/usecases/call-tracing.ts', 'Where there is a span, there is what has recorded it.', [
    'if (tracing !== undefined && span !== undefined)',
    'tracing !== undefined',
    'true',
  ]),
  ...survivors(
    'sidecar/usecases/decision-meters.ts',
    'It only frees the memory of decisions that do not come back.',
    ["#rules = ''", "''", SOME_TEXT],
    ['if (decision.rulesDigest !== this.#rules) {', 'decision.rulesDigest !== this.#rules', 'false'],
    [
      'if (decision.rulesDigest !== this.#rules) {',
      'decision.rulesDigest !== this.#rules',
      'decision.rulesDigest === this.#rules',
    ],
  ),
]
