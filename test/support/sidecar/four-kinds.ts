/**
 * A matrix with a kind of token for each way to obtain one, with APIs for all combinations of them; and a
 * profile that gives such tokens.
 */
import { type Api, type Conflict, compile, type Engine, type TokenKind } from '../../../engine/index.ts'
import type { IssuedToken } from '../../../sidecar/authority/authority.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import type { Profile } from '../../../sidecar/usecases/profiles.ts'

export const PROFILE_ACCOUNT = '4711'

export const kind = (id: string, change: Partial<TokenKind> = {}): TokenKind => ({
  ...{
    id,
    title: `${id} token`,
    family: id,
    scopeLevel: 'account',
    header: `X-${id}`,
    issuedTo: 'service_user',
  },
  ...{ obtained: { by: 'issue' }, permissionScopes: ['account'], lifetimeSeconds: 60, section: '§1' },
  ...change,
})
export const WHOLE = kind('whole', { scheme: 'Bearer' })
export const PART = kind('part', { scopeLevel: 'project', permissionScopes: ['account', 'projects'] })
const FIXED = kind('fixed', { obtained: { by: 'control_panel', steps: ['Open it.', 'Copy it.'] } })
export const GIVEN = kind('given', { obtained: { by: 'control_panel' }, scheme: 'Key' })

export const api = (accepts: string): Api => ({
  ...{ id: accepts === '' ? 'shut' : accepts, title: accepts, section: '§2' },
  accepts: accepts.split('+').filter((each) => each !== ''),
})
const conflict = (id: string, change: Partial<Conflict>): Conflict => ({
  ...{ id, type: 'omission', cells: [], apis: [], kinds: [], statements: [] },
  ...{ resolution: 'table', reason: 'either may be so', ...change },
})
/** An API is named by the kinds that it accepts, but for those whose cells are contested. */
const ROWS = [
  'whole',
  'part',
  'fixed',
  'given',
  'whole+part',
  'whole+fixed',
  'part+fixed',
  'whole+part+fixed',
  '',
]
const CONFLICTS = [
  conflict('narrow', { cells: [{ api: 'narrow', kind: 'part' }] }),
  conflict('whole-itself', { kinds: ['whole'] }),
  conflict('row', { apis: ['row'] }),
  conflict('closed', { cells: [{ api: 'closed', kind: 'part' }] }),
]
export const named = (id: string, accepts: string): Api => ({ ...api(accepts), id })
/** An engine with the four kinds. */
export const made = (apis: readonly Api[], conflicts: readonly Conflict[] = [], strict = false): Engine =>
  compile<string, string>(
    { title: 'any', tokenKinds: [WHOLE, PART, FIXED, GIVEN], apis, conflicts },
    { strict },
  )
const APIS = [
  ...ROWS.map(api),
  named('barred', ''),
  named('narrow', 'whole+part'),
  named('row', 'part'),
  named('closed', 'part'),
]
export const ENGINE = made(APIS, CONFLICTS)
export const STRICT = made(APIS, CONFLICTS, true)

/** A profile whose tokens are the same ones each time, as those of a cache are. */
export function profileWith(change: Partial<Profile> = {}) {
  const asked: unknown[][] = []
  const tokens = new Map<string, IssuedToken>()
  const profile: Profile = {
    ...{ name: 'job', account: PROFILE_ACCOUNT, staticToken: undefined, projects: undefined },
    issue: ({ id }, scope, rejected) => {
      asked.push([id, scope, rejected])
      const subject = { id: 'u', name: 'u', type: 'service_user' }
      const token = { kind: id, scope, subject, tokenId: `of ${id}`, issuedAtMs: 1, expiresAtMs: 2 }
      const known = tokens.get(id) ?? { value: new Secret(`secret of ${id}`), token }
      tokens.set(id, known)
      return known
    },
    ...change,
  }
  return { profile, asked }
}
