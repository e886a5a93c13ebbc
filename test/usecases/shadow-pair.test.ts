/**
 * The answers that a second matrix would have changed, in each way in which it can differ. Its real answer is
 * the measure. `test/parity/shadow.test.ts` asks over every protocol.
 */
import { describe, expect, test } from 'vitest'
import { compile, type Decision, type Engine, type Scope, type TokenKind } from '../../engine/index.ts'
import type { Verification, VerifiedToken, Verifier } from '../../sidecar/authority/authority.ts'
import { kindOfScope } from '../../sidecar/authority/kind-of-scope.ts'
import type { DecisionListener } from '../../sidecar/usecases/asker.ts'
import { checkClaims, checkCredentials, checkKind } from '../../sidecar/usecases/check.ts'
import { type Difference, EnginePair } from '../../sidecar/usecases/shadow-pair.ts'
import { kind, named } from '../support/sidecar/four-kinds.ts'

const ACCOUNT = '4711'
const KINDS = {
  whole: kind('whole', { header: 'X-Auth-Token' }),
  part: kind('part', { header: 'X-Auth-Token', scopeLevel: 'project' }),
  fixed: kind('fixed', { header: 'X-Token', obtained: { by: 'control_panel' } }),
  badge: kind('badge', { header: 'Authorization', scheme: 'Bearer', prefix: 'bdg_' }),
}
const APIS = { any: 'whole+part+fixed+badge', iam: 'whole', shut: '' }

/** A change to the usual matrix. */
interface Change {
  /** Kind → what is otherwise of it, or a new one; `undefined`: there is none. */
  readonly kinds?: Readonly<Record<string, Partial<TokenKind> | undefined>>
  /** API → the kinds that it accepts; `undefined`: there is none. */
  readonly apis?: Readonly<Record<string, string | undefined>> | undefined
  readonly reversed?: boolean
}
const SAME: Change = {}

function made({ kinds: changed = {}, apis, reversed = false }: Change): Engine {
  const all: Readonly<Record<string, TokenKind>> = KINDS
  const ids = [...new Set([...Object.keys(all), ...Object.keys(changed)])]
  const tokenKinds = ids.flatMap((id) =>
    id in changed && changed[id] === undefined ? [] : [{ ...(all[id] ?? kind(id)), ...changed[id] }],
  )
  const known = new Set(tokenKinds.map(({ id }) => id))
  const accepted = (kinds: string) => kinds.split('+').filter((id) => known.has(id))
  return compile<string, string>({
    ...{ title: 'any', tokenKinds: reversed ? tokenKinds.reverse() : tokenKinds },
    apis: Object.entries({ ...APIS, ...apis }).flatMap(([id, kinds]) =>
      kinds === undefined ? [] : [named(id, accepted(kinds).join('+'))],
    ),
  })
}

const token = (of: Partial<VerifiedToken>): VerifiedToken => ({
  ...{ kind: 'whole', scope: { account: ACCOUNT }, tokenId: 't', issuedAtMs: 0, expiresAtMs: undefined },
  ...{ subject: { id: 'u', name: 'u', type: 'service_user' } },
  ...of,
})
const INVALID: Verification = { ok: false, reason: 'CREDENTIAL_INVALID' }
const ok = (of: Partial<VerifiedToken> = {}) => ({ ok: true, token: token(of) }) as const
/** The form of a text, and the authority's answer about it. It refuses every other text. */
const TOKENS: Readonly<Record<string, [by: TokenKind['obtained']['by'] | undefined, says: Verification]>> = {
  whole: ['issue', ok()],
  part: ['issue', ok({ kind: 'part', scope: { account: ACCOUNT, project: 'alpha' } })],
  fixed: ['control_panel', ok({ kind: 'fixed' })],
  bdg_1: ['issue', ok({ kind: 'badge' })],
  later: ['issue', ok({ kind: 'later' })],
  revoked: ['issue', { ok: false, reason: 'CREDENTIAL_REVOKED', token: token({}) }],
  expired: ['issue', { ok: false, reason: 'CREDENTIAL_EXPIRED', token: token({}) }],
  bdg_eyJ: ['issue', { ok: false, reason: 'WRONG_HEADER', token: token({}) }],
}
/** An upstream says what a token is bound to. The matrix says its kind. */
const UPSTREAM: Readonly<Record<string, Scope>> = {
  'u-whole': { account: ACCOUNT },
  'u-part': { account: ACCOUNT, project: 'alpha' },
}
const authority: Verifier = {
  recognize: (value) => TOKENS[value]?.[0],
  verify: (value, kinds) => {
    const scope = UPSTREAM[value]
    if (scope === undefined) return TOKENS[value]?.[1] ?? INVALID
    const of = kindOfScope(scope, kinds.values())
    return of === undefined ? INVALID : ok({ scope, kind: of.id, authority: 'cloud' })
  },
}

type Headers = Readonly<Record<string, string>>
const IAM = (value: string) => ({ 'X-Auth-Token': value })

/** Asks a matrix about credentials, and the pair about the answer. */
function asked(engine: Engine, api: string, headers: Headers, pair?: EnginePair) {
  let difference: Difference
  const listener = {
    startMs: () => 0,
    ofCredentials: (...told: Parameters<EnginePair['ofCredentials']>) => {
      difference = pair?.ofCredentials(...told)
    },
  } as unknown as DecisionListener
  const question = { api, headers: Object.entries(headers), target: undefined, clientAddress: undefined }
  const { decision } = checkCredentials({ engine, authority, verifier: authority }, question, {
    ...{ connection: undefined, listener },
  }) as { decision: Decision }
  return { allowed: decision.allowed, reason: decision.reason, difference }
}
const direction = (was: boolean, is: boolean) => (was === is ? undefined : is ? 'opened' : 'closed')

const opened = (apis: Change['apis']): Change => ({ apis })
const moved = (id: string, header: string): Change => ({ kinds: { [id]: { header } } })
const without = (...ids: string[]): Change => ({
  kinds: Object.fromEntries(ids.map((id) => [id, undefined])),
})

const PREFIXED: Change = {
  kinds: { whole: { prefix: 'who_' }, part: { prefix: 'prt_' }, fixed: { prefix: 'fix_' } },
}

type Row = [claim: string, inForce: Change, shadow: Change, api: string, headers: Headers, found: Difference]
describe('of credentials, where', () => {
  test.each<Row>([
    ['nothing differs', SAME, SAME, 'iam', IAM('whole'), undefined],
    ['a cell is opened', SAME, opened({ shut: 'whole' }), 'shut', IAM('whole'), 'opened'],
    ['a cell is closed', SAME, opened({ iam: '' }), 'iam', IAM('whole'), 'closed'],
    ['another cell is opened', SAME, opened({ iam: 'whole+part' }), 'iam', IAM('whole'), undefined],
    ['a token has expired', SAME, opened({ shut: 'whole' }), 'shut', IAM('expired'), undefined],
    ['the credential is invalid', SAME, opened({ shut: 'whole' }), 'shut', IAM('gibberish'), undefined],
    ['there is none', SAME, opened({ shut: 'whole' }), 'shut', {}, undefined],
    ['the API is gone', SAME, opened({ iam: undefined }), 'iam', IAM('whole'), 'closed'],
    ['and it was denied', SAME, opened({ iam: undefined }), 'iam', IAM('part'), undefined],
    ['neither has the API', SAME, opened({ iam: '' }), 'none', IAM('whole'), undefined],
    // No token was looked at.
    ['the API is new', SAME, opened({ new: 'whole' }), 'new', IAM('whole'), 'unknown'],
    ['the API is new, without a credential', SAME, opened({ new: 'whole' }), 'new', {}, undefined],
    ['the kinds are in another order', SAME, { reversed: true }, 'any', IAM('part'), undefined],
    ['a kind is new, for others', SAME, { kinds: { badge: undefined } }, 'any', IAM('whole'), undefined],
    ['a kind is gone', SAME, without('part'), 'any', IAM('part'), 'closed'],
    ['its header is another', SAME, moved('fixed', 'X-Key'), 'any', { 'X-Token': 'fixed' }, 'closed'],
    ['its new header is used', SAME, moved('fixed', 'X-Key'), 'any', { 'X-Key': 'fixed' }, 'unknown'],
    [
      'each finds another one',
      ...[SAME, moved('fixed', 'X-Key'), 'any', { 'X-Token': 'fixed', 'X-Key': 'other' }, 'unknown'],
    ],
    [
      'both find it, in their own header',
      ...[SAME, moved('fixed', 'X-Key'), 'any', { 'X-Token': 'fixed', 'X-Key': 'fixed' }, undefined],
    ],
    [
      'it is told by its scheme, and has none',
      ...[
        SAME,
        { kinds: { badge: { scheme: undefined } } },
        'any',
        { Authorization: 'Bearer bdg_1' },
        'closed',
      ],
    ],
    [
      'the kinds share a header',
      ...[moved('part', 'X-Part'), SAME, 'any', { 'X-Auth-Token': 'part' }, 'opened'],
    ],
    ['they do no longer', SAME, moved('part', 'X-Part'), 'any', IAM('part'), 'closed'],
    [
      'it begins as it should at last',
      ...[{ kinds: { part: { prefix: 'prt_' } } }, SAME, 'any', IAM('part'), 'unknown'],
    ],
    [
      'it should begin otherwise',
      SAME,
      { kinds: { part: { prefix: 'prt_' } } },
      'any',
      IAM('part'),
      'closed',
    ],
    [
      'it should begin as it does',
      ...[SAME, { kinds: { part: { prefix: 'par' } } }, 'any', IAM('part'), 'unknown'],
    ],
    [
      'it should begin as it ends',
      SAME,
      { kinds: { part: { prefix: 'art' } } },
      'any',
      IAM('part'),
      'closed',
    ],
    ['each began in its way', PREFIXED, SAME, 'any', IAM('gibberish'), undefined],
    [
      'it begins as another kind, which moves',
      { kinds: { more: { header: 'X-More', prefix: 'bdg_' } } },
      ...[{ kinds: { more: { header: 'X-Other', prefix: 'bdg_' } } }, 'any', IAM('bdg_eyJ'), undefined],
    ],
    ['its beginning is new', SAME, { kinds: { part: { prefix: 'prt_' } } }, 'any', IAM('prt_x'), 'unknown'],
    [
      'another beginning is new',
      ...[
        SAME,
        { kinds: { part: { prefix: 'prt_' }, more: { prefix: 'mor_' } } },
        'any',
        IAM('prt_x'),
        'unknown',
      ],
    ],
    [
      'an upstream wrote it with the beginning of another kind',
      ...[
        SAME,
        { kinds: { part: { prefix: 'u-' }, more: { prefix: 'u-p' } } },
        'any',
        IAM('u-part'),
        undefined,
      ],
    ],
    ['it ends so', SAME, { kinds: { part: { prefix: 'prt_' } } }, 'any', IAM('x_prt_'), undefined],
    [
      'it begins as before',
      ...[SAME, { kinds: { more: { prefix: 'bdg_' } } }, 'any', IAM('bdg_x'), undefined],
    ],
    [
      'its header may hold what is obtained otherwise',
      ...[SAME, moved('fixed', 'X-Auth-Token'), 'any', IAM('fixed'), 'unknown'],
    ],
    ['and it has expired', ...[SAME, moved('fixed', 'X-Auth-Token'), 'any', IAM('expired'), undefined]],
    ['its header holds less', ...[moved('fixed', 'X-Auth-Token'), SAME, 'any', IAM('gibberish'), undefined]],
    [
      'other permissions are needed',
      ...[SAME, { kinds: { part: { permissionScopes: ['projects'] } } }, 'any', IAM('part'), 'unknown'],
    ],
    [
      'other permissions are needed, and the API is closed',
      SAME,
      { kinds: { whole: { permissionScopes: ['projects'] } }, apis: { iam: '' } },
      ...(['iam', IAM('whole'), 'closed'] as const),
    ],
    [
      'other permissions may be enough',
      ...[SAME, { kinds: { whole: { permissionScopes: [] } } }, 'any', IAM('revoked'), 'unknown'],
    ],
    ['it was revoked', SAME, moved('fixed', 'X-Key'), 'any', IAM('revoked'), undefined],
    [
      'other permissions are needed, and it has expired',
      ...[SAME, { kinds: { whole: { permissionScopes: [] } } }, 'any', IAM('expired'), undefined],
    ],
    [
      'other permissions are needed by another kind',
      ...[SAME, { kinds: { part: { permissionScopes: ['projects'] } } }, 'any', IAM('whole'), undefined],
    ],
    ['neither knows the kind', SAME, without('badge'), 'any', IAM('later'), undefined],
    [
      'an authority knew the kind',
      ...[SAME, { kinds: { later: { header: 'X-Auth-Token' } }, apis: { any: 'later' } }, 'any'],
      ...([IAM('later'), 'unknown'] as const),
    ],
    ['an upstream vouches', SAME, without('badge'), 'any', IAM('u-whole'), undefined],
    [
      'an upstream vouches, whatever permissions are needed',
      ...[SAME, { kinds: { whole: { permissionScopes: ['projects'] } } }, 'iam', IAM('u-whole'), undefined],
    ],
  ] as Row[])('%s', (_claim, before, after, api, headers, found) => {
    const [inForce, shadow] = [made(before), made(after)]
    const was = asked(inForce, api, headers, new EnginePair(inForce, shadow))
    expect(was.difference).toBe(found)
    if (found !== 'unknown') expect(found).toBe(direction(was.allowed, asked(shadow, api, headers).allowed))
  })

  /** The kind of an account-scoped token has another name, and one of the project the name of before. */
  const RENAMED: Change = {
    kinds: { whole: undefined, badge: { scopeLevel: 'project' }, entire: { header: 'X-Auth-Token' } },
    apis: { iam: 'entire', any: 'part' },
  }
  const IN_FRONT: Change = { kinds: { badge: { scopeLevel: 'project' } }, reversed: true }
  test.each<Row>([
    ['has another name', SAME, RENAMED, 'iam', IAM('u-whole'), undefined],
    ['has another name, and is closed', SAME, RENAMED, 'any', IAM('u-whole'), 'closed'],
    ['is not there', SAME, without('whole', 'badge'), 'any', IAM('u-whole'), 'closed'],
    ['is there at last', without('whole', 'badge'), SAME, 'any', IAM('u-whole'), 'unknown'],
    ['is there at last, for projects', without('part'), SAME, 'any', IAM('u-part'), 'unknown'],
    ['is another one of the two', SAME, { reversed: true }, 'iam', IAM('u-whole'), 'closed'],
    [
      'is there at last, where no such token is',
      ...[without('part'), SAME, 'any', { 'X-Token': 'gibberish' }, undefined],
    ],
    ['travels elsewhere', SAME, IN_FRONT, 'any', IAM('u-part'), 'closed'],
  ] as Row[])('the kind of an upstream’s token %s', (_claim, before, after, api, headers, found) => {
    const [inForce, shadow] = [made(before), made(after)]
    const was = asked(inForce, api, headers, new EnginePair(inForce, shadow))
    expect(was.difference).toBe(found)
    if (found !== 'unknown') expect(found).toBe(direction(was.allowed, asked(shadow, api, headers).allowed))
  })
})

const CHANGES: readonly [claim: string, before: Change, after: Change][] = [
  ['nothing differs', SAME, SAME],
  ['cells differ', SAME, opened({ shut: 'whole', iam: 'part', any: 'whole+fixed' })],
  ['APIs are new and gone', opened({ old: 'whole', bare: '' }), opened({ new: 'part', empty: '' })],
  ['a kind is new', without('part'), SAME],
  ['a kind is gone', SAME, without('part')],
  ['a kind is for projects', SAME, { kinds: { whole: { scopeLevel: 'project' } } }],
]
const IDS = ['none', 'old', 'bare', 'new', 'empty', ...Object.keys(APIS)]
const SCOPES: readonly (Scope | undefined)[] = [
  undefined,
  { account: ACCOUNT },
  { account: ACCOUNT, project: 'alpha' },
  { account: '4712' },
]
describe.each(CHANGES)('where %s', (_claim, before, after) => {
  const [inForce, shadow] = [made(before), made(after)]
  const cells = IDS.flatMap((api) => ['none', ...Object.keys(KINDS)].map((kind) => ({ api, kind })))
  const claims = cells.flatMap((cell) =>
    SCOPES.flatMap((scope) => SCOPES.map((target) => ({ ...cell, scope, target }))),
  )

  test.each(['first', 'last'])('the difference of any claims is that of the answers, asked %s', (when) => {
    const pair = new EnginePair(inForce, shadow)
    for (const question of when === 'first' ? claims : claims.toReversed()) {
      const [was, is] = [inForce, shadow].map((engine) => checkClaims({ engine }, question, undefined))
      const found = pair.ofClaims(question, was as Decision)
      expect([question, found]).toEqual([question, direction(was?.allowed === true, is?.allowed === true)])
    }
  })

  test.each(['first', 'last'])('the difference of any cell is that of the answers, asked %s', (when) => {
    const pair = new EnginePair(inForce, shadow)
    for (const cell of when === 'first' ? cells : cells.toReversed()) {
      const [was, is] = [inForce, shadow].map((engine) => checkKind({ engine }, cell, undefined))
      const found = pair.ofKind(cell.api, cell.kind, was as Decision)
      expect([cell, found]).toEqual([cell, direction(was?.allowed === true, is?.allowed === true)])
    }
  })
})

/** The matrix in force chooses the token that the sidecar itself sends. */
test.each<[claim: string, before: Change, after: Change, api: string, kind: string, found: Difference]>([
  ['nothing differs', SAME, SAME, 'iam', 'whole', undefined],
  ['the shadow lets more pass', SAME, opened({ iam: 'whole+part' }), 'iam', 'whole', undefined],
  ['the shadow lets another one pass', SAME, opened({ iam: 'part' }), 'iam', 'whole', 'unknown'],
  ['the shadow lets none pass', SAME, opened({ iam: '' }), 'iam', 'whole', 'closed'],
  ['the shadow does not know the API', SAME, opened({ iam: undefined }), 'iam', 'whole', 'closed'],
  ['the shadow lets one pass where none was sent', SAME, opened({ shut: 'whole' }), 'shut', '', 'unknown'],
  ['the shadow alone knows the API', SAME, opened({ new: 'whole' }), 'new', '', 'unknown'],
  ['the shadow alone knows the API, which is closed', SAME, opened({ new: '' }), 'new', '', undefined],
])('of a token that was sent, where %s', (_claim, before, after, api, kind, found) => {
  const [inForce, shadow] = [made(before), made(after)]
  const sent = kind === '' ? undefined : { kind, scope: { account: ACCOUNT } }
  const decision = inForce.decide({ api, kind, scope: { account: ACCOUNT } })
  expect(new EnginePair(inForce, shadow).ofOwnToken(api, sent, decision)).toBe(found)
})

describe('the shadow is not asked again', () => {
  /** An engine that says which of its parts were used. */
  function watched(engine: Engine) {
    const used = new Set<PropertyKey>()
    const shadow = new Proxy(engine, {
      get: (target, key) => {
        used.add(key)
        return Reflect.get(target, key)
      },
    })
    return { used, shadow }
  }
  const again = (before: Change, after: Change, ask: (inForce: Engine, pair: EnginePair) => unknown) => {
    const inForce = made(before)
    const { used, shadow } = watched(made(after))
    const pair = new EnginePair(inForce, shadow)
    ask(inForce, pair)
    used.clear()
    ask(inForce, pair)
    return [...used]
  }

  const OTHERS = opened({ iam: 'whole+part', shut: 'whole' })
  const CREDENTIALS: readonly [claim: string, api: string, headers: Headers][] = [
    ['an answer that is alike', 'any', IAM('whole')],
    ['an answer that is alike, beside others', 'iam', IAM('whole')],
    ['a fault of a known token', 'shut', IAM('expired')],
    ['a fault of any other', 'shut', IAM('gibberish')],
    ['a fault of the headers', 'shut', {}],
  ]
  test.each(CREDENTIALS)('for %s', (_claim, api, headers) => {
    expect(again(SAME, OTHERS, (inForce, pair) => asked(inForce, api, headers, pair))).toEqual([])
  })

  test('for claims, a cell and a token that was sent', () => {
    const scope = { account: ACCOUNT }
    for (const api of ['any', 'iam']) {
      const question = { api, kind: 'whole', scope, target: undefined }
      const used = again(SAME, OTHERS, (inForce, pair) => {
        const decision = inForce.decide(question)
        pair.ofClaims(question, decision)
        pair.ofKind(api, 'whole', decision)
      })
      expect(used).toEqual([])
    }
    const sent = { kind: 'whole', scope }
    const own = again(SAME, OTHERS, (inForce, pair) =>
      pair.ofOwnToken('any', sent, inForce.decide({ api: 'any', ...sent })),
    )
    expect(own).toEqual([])
  })

  test('about an API that neither has, more than whether it has it', () => {
    const kind = { api: 'none', kind: 'whole' }
    const used = again(SAME, OTHERS, (inForce, pair) =>
      pair.ofKind(kind.api, kind.kind, checkKind({ engine: inForce }, kind, undefined)),
    )
    expect(used).toEqual(['apis'])
  })

  test('for the credential, where both look at the same places', () => {
    const used = again(SAME, { kinds: { part: { permissionScopes: ['projects'] } } }, (inForce, pair) =>
      asked(inForce, 'any', IAM('part'), pair),
    )
    expect(used).not.toContain('extract')
  })
})
