/**
 * A revoked token stays revoked. Accounts, projects, users, permissions, the clock and the matrix change at
 * random, with a model beside them. It has a token as active only while everything that the token needs has
 * lasted without a break since it was issued.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compile, type TokenKind } from '../../../engine/index.ts'
import { supportMatrix } from '../../../matrix/index.ts'
import type { Administration } from '../../../sidecar/authority/administration/administration.ts'
import { UNSCOPED_KIND, type VerifiedToken } from '../../../sidecar/authority/authority.ts'
import { EmbeddedAuthority } from '../../../sidecar/authority/embedded.ts'
import { IamTokenSigner } from '../../../sidecar/authority/iam-token.ts'
import { KeyRing } from '../../../sidecar/authority/keys.ts'
import type { Passwords } from '../../../sidecar/authority/password.ts'
import { CallError } from '../../../sidecar/base/call-error.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { Turns } from '../../../sidecar/base/turns.ts'
import type { DirectoryChange } from '../../../sidecar/directory/change.ts'
import { ANCESTORS_MAX, type Permission } from '../../../sidecar/directory/directory.ts'
import type { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { revokeInDirectory } from '../../../sidecar/usecases/revocation-right.ts'
import { TESTER } from '../../support/sidecar/actor.ts'
import { newServiceUser, theProject, theUser } from './people.ts'
import type { Account, Subject } from './subject.ts'

type Project = 'alpha' | 'beta'
/** The scope of a token: a project, the account (`undefined`), or nothing. */
type Bound = Project | undefined | 'unscoped'
const HOUR_MS = 3_600_000
const YEAR_MS = 365 * 24 * HOUR_MS
const SKEW_MS = 60_000

type Scopes = TokenKind['permissionScopes']

/** One step: a change, a jump of the clock, another matrix, a login, or a token in exchange for another. */
type Step =
  | { readonly type: 'account' | 'user'; readonly enabled: boolean }
  | { readonly type: 'project'; readonly project: Project; readonly enabled: boolean }
  | { readonly type: 'permissions'; readonly account: boolean; readonly selected: readonly Project[] }
  | { readonly type: 'password' }
  | { readonly type: 'issue'; readonly project: Bound }
  | { readonly type: 'derive'; readonly index: number; readonly project: Bound }
  | { readonly type: 'revoke'; readonly index: number; readonly known: boolean }
  | { readonly type: 'clock'; readonly jumpMs: number }
  | { readonly type: 'matrix'; readonly lifetimeSeconds: number | null; readonly scopes: Scopes }

const project = fc.constantFrom<Project>('alpha', 'beta')
const bound = fc.constantFrom<Bound>('alpha', 'beta', undefined, 'unscoped')
const weighted = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary })
const STEP: fc.Arbitrary<Step> = fc.oneof(
  weighted(
    2,
    fc.record({ type: fc.constantFrom('account' as const, 'user' as const), enabled: fc.boolean() }),
  ),
  weighted(2, fc.record({ type: fc.constant('project' as const), project, enabled: fc.boolean() })),
  weighted(
    5,
    fc.record({
      type: fc.constant('permissions' as const),
      account: fc.boolean(),
      selected: fc.subarray<Project>(['alpha', 'beta']),
    }),
  ),
  weighted(1, fc.constant<Step>({ type: 'password' })),
  weighted(5, fc.record({ type: fc.constant('issue' as const), project: bound })),
  weighted(5, fc.record({ type: fc.constant('derive' as const), index: fc.nat({ max: 2 }), project: bound })),
  weighted(
    2,
    fc.record({ type: fc.constant('revoke' as const), index: fc.nat({ max: 4 }), known: fc.boolean() }),
  ),
  weighted(
    2,
    fc.record({
      type: fc.constant('clock' as const),
      jumpMs: fc.oneof(
        fc.integer({ min: -90 * HOUR_MS, max: 90 * HOUR_MS }),
        fc.integer({ min: -20, max: 20 }).map((years) => years * YEAR_MS),
      ),
    }),
  ),
  weighted(
    2,
    fc.record({
      type: fc.constant('matrix' as const),
      lifetimeSeconds: fc.constantFrom(60, 86_400, 30 * 86_400, null),
      scopes: fc.constantFrom<Scopes>(['account', 'projects'], ['account'], ['projects']),
    }),
  ),
)

/** The grounds of a token that have lasted without a break since it was issued. */
interface Lasting {
  readonly project: Bound
  /** The tokens that it was derived from, the nearest first. If one of them is revoked, so is it. */
  readonly ancestors: readonly Held[]
  revoked: boolean
  ground: boolean
  byAccount: boolean
  bySelection: boolean
  byEither: boolean
}

interface Held extends Lasting {
  readonly value: string
  readonly token: VerifiedToken
}

export function revokedContract(subject: () => Subject): void {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-revoked-'))
  let ring: KeyRing
  beforeAll(() => {
    ring = new KeyRing(join(folder, 'signing-keys.json'), Date.now(), { onRefused: () => {} })
  })
  afterAll(() => {
    ring.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('stays revoked, whatever happens to the clock, the matrix and the records', async () => {
    const { clock } = subject()
    const before = clock.nowMs
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 5, maxLength: 30 }), async (steps) => {
        const world = await World.start(subject(), ring)
        for (const step of steps) {
          await world.take(step)
          await world.expectModel(subject().store)
        }
        const reopened = await subject().place.open(() => subject().clock.nowMs)
        await world.expectModel(reopened.store)
        await reopened.store.close()
      }),
      // On PostgreSQL, which `npm test` leaves out: more, and other ones each time.
      subject().place.location.type === 'sqlite' ? { seed: 1, numRuns: 15 } : { numRuns: 40 },
    )
    clock.nowMs = before
  })
}

class World {
  readonly #subject: Subject
  readonly #ring: KeyRing
  readonly #account: Account
  #kinds: ReadonlyMap<string, TokenKind> = compile(supportMatrix).tokenKinds
  #enabled: Record<'account' | 'user' | Project, boolean> = {
    account: true,
    user: true,
    alpha: true,
    beta: true,
  }
  #permissions: { account: boolean; selected: ReadonlySet<Project> } = {
    account: true,
    selected: new Set<Project>(['alpha']),
  }
  readonly #held: Held[] = []

  static async start(subject: Subject, ring: KeyRing): Promise<World> {
    const { account } = await newServiceUser(subject, [
      { scope: 'account' },
      { scope: 'projects', projects: ['alpha'] },
    ])
    return new World(subject, ring, account)
  }

  private constructor(subject: Subject, ring: KeyRing, account: Account) {
    this.#subject = subject
    this.#ring = ring
    this.#account = account
  }

  async take(step: Step): Promise<void> {
    const { clock } = this.#subject
    if (step.type === 'clock') {
      clock.nowMs = Math.min(Math.max(clock.nowMs + step.jumpMs, YEAR_MS), 200 * YEAR_MS)
      return
    }
    if (step.type === 'matrix') return this.#changeMatrix(step)
    if (step.type === 'issue') return this.#issue(step.project)
    if (step.type === 'derive') return this.#derive(step)
    if (step.type === 'revoke') return this.#revoke(step)
    await this.#subject.store.change('a test', (change) => this.#change(change, step))
    for (const held of this.#held) this.#age(held)
  }

  async #change(
    change: DirectoryChange,
    step: Extract<Step, { type: 'account' | 'user' | 'project' | 'permissions' | 'password' }>,
  ): Promise<void> {
    const user = await theUser(change.records, this.#account, 'robot', 'service_user')
    if (step.type === 'password') {
      await change.setPassword(user, user.name)
      for (const held of this.#held) held.ground = false
    } else if (step.type === 'permissions') {
      const selected = [...step.selected]
      const permissions: Permission[] = [
        ...(step.account ? [{ scope: 'account' as const }] : []),
        ...(selected.length > 0 ? [{ scope: 'projects' as const, projects: selected }] : []),
      ]
      await change.setPermissions(user, permissions)
      this.#permissions = { account: step.account, selected: new Set(selected) }
    } else if (step.type === 'project') {
      const found = await theProject(change.records, this.#account, step.project)
      await change.setProjectEnabled(found, step.enabled)
      this.#enabled[step.project] = step.enabled
    } else {
      if (step.type === 'user') await change.setUserEnabled(user, step.enabled)
      else await change.setAccountEnabled(this.#account, step.enabled)
      this.#enabled[step.type] = step.enabled
    }
  }

  #age(held: Lasting): void {
    const { account, selected } = this.#permissions
    const projectOf = held.project === 'unscoped' ? undefined : held.project
    const isSelected = projectOf !== undefined && selected.has(projectOf)
    held.ground &&=
      this.#enabled.account && this.#enabled.user && (projectOf === undefined || this.#enabled[projectOf])
    held.byAccount &&= account
    held.bySelection &&= isSelected
    held.byEither &&= account || isSelected
  }

  #changeMatrix({ lifetimeSeconds, scopes }: Extract<Step, { type: 'matrix' }>): void {
    const changed = [...this.#kinds].map(([id, kind]): [string, TokenKind] => {
      if (kind.obtained.by !== 'issue') return [id, kind]
      const permissionScopes = kind.scopeLevel === 'project' ? [...scopes] : kind.permissionScopes
      return [id, { ...kind, lifetimeSeconds, permissionScopes }]
    })
    this.#kinds = new Map(changed)
  }

  async #issue(wanted: Bound): Promise<void> {
    const { account } = this.#account
    const requester = { account, userName: 'robot', password: new Secret('right') }
    const authority = this.#authorityOn(this.#subject.store)
    await this.#hold(
      this.#newly(wanted, []),
      authority.issue(requester, this.#kindFor(wanted), this.#scopeOf(wanted)),
    )
  }

  async #derive({ index, project: wanted }: Extract<Step, { type: 'derive' }>): Promise<void> {
    // From the end, because the last ones are the ones that are active.
    const parent = this.#held.at(-1 - (index % Math.max(this.#held.length, 1)))
    if (parent === undefined) return
    const authority = this.#authorityOn(this.#subject.store)
    const deriving = authority.derive(parent.value, this.#kinds, this.#kindFor(wanted), this.#scopeOf(wanted))
    const mayDerive =
      this.#expected(parent, this.#subject.clock.nowMs) === 'ACTIVE' &&
      parent.ancestors.length < ANCESTORS_MAX
    if (!mayDerive) {
      await expect(deriving).rejects.toThrow(CallError)
      return
    }
    const derived = await this.#hold(this.#newly(wanted, [parent, ...parent.ancestors]), deriving)
    if (derived === undefined || parent.token.expiresAtMs === undefined) return
    expect(derived.token.expiresAtMs).toBeLessThanOrEqual(parent.token.expiresAtMs)
  }

  #newly(wanted: Bound, ancestors: readonly Held[]): Lasting {
    const held: Lasting = {
      project: wanted,
      ancestors,
      revoked: false,
      ground: true,
      byAccount: true,
      bySelection: true,
      byEither: true,
    }
    this.#age(held)
    return held
  }

  #scopeOf(wanted: Bound) {
    const { account } = this.#account
    return { account, ...(wanted !== undefined && wanted !== 'unscoped' && { project: wanted }) }
  }

  /** Remembers what was issued, or expects that it was refused. */
  async #hold(
    held: Lasting,
    issuing: Promise<{ readonly value: Secret; readonly token: VerifiedToken }>,
  ): Promise<Held | undefined> {
    if (!this.#isActive(held)) {
      await expect(issuing).rejects.toThrow(CallError)
      return undefined
    }
    const { value, token } = await issuing
    const issued = { ...held, value: value.reveal(), token }
    this.#held.push(issued)
    return issued
  }

  async #revoke({ index, known }: Extract<Step, { type: 'revoke' }>): Promise<void> {
    const held = known ? this.#held.at(-1 - (index % Math.max(this.#held.length, 1))) : undefined
    const tokenId = held?.token.tokenId ?? `another token, ${index}`
    const revoker = { author: TESTER, expectRight: () => {} }
    const administration = { directory: this.#subject.store } as Administration
    await revokeInDirectory(administration, revoker, { tokenId, account: '' })
    if (held !== undefined) held.revoked = true
  }

  /**
   * Expects of every token what the model says, by the clock of now and by the clock of when it was issued.
   */
  async expectModel(store: DirectoryStore): Promise<void> {
    const authority = this.#authorityOn(store)
    const { clock } = this.#subject
    const { nowMs } = clock
    for (const held of this.#held)
      for (const atMs of [nowMs, held.token.issuedAtMs]) {
        clock.nowMs = atMs
        const verification = await authority.verify(held.value, this.#kinds)
        expect(verification.ok ? 'ACTIVE' : verification.reason).toBe(this.#expected(held, atMs))
      }
    clock.nowMs = nowMs
  }

  #expected(held: Held, nowMs: number): string {
    const { issuedAtMs, expiresAtMs } = held.token
    if (issuedAtMs > nowMs + SKEW_MS) return 'CREDENTIAL_INVALID'
    if (expiresAtMs !== undefined && nowMs >= expiresAtMs) return 'CREDENTIAL_EXPIRED'
    return this.#isActive(held) ? 'ACTIVE' : 'CREDENTIAL_REVOKED'
  }

  #isActive(held: Lasting): boolean {
    const { ground, project, byAccount, bySelection, byEither, ancestors } = held
    const lasting = ground && ![held, ...ancestors].some(({ revoked }) => revoked)
    if (project === 'unscoped') return lasting
    const { permissionScopes } = this.#kindFor(project)
    const [ofAccount, ofProjects] = (['account', 'projects'] as const).map((scope) =>
      permissionScopes.includes(scope),
    )
    return (
      lasting &&
      ((ofAccount && ofProjects && byEither) || (ofAccount ? byAccount : ofProjects && bySelection) || false)
    )
  }

  #kindFor(project: Bound): TokenKind {
    const ofAccount = this.#kinds.get('iam_token_account_scoped') as TokenKind
    if (project === 'unscoped') return { ...ofAccount, id: UNSCOPED_KIND, permissionScopes: [] }
    return project === undefined ? ofAccount : (this.#kinds.get('iam_token_project_scoped') as TokenKind)
  }

  /**
   * A new authority knows nothing that an earlier one remembered. Its passwords are always right, because
   * hashing takes long.
   */
  #authorityOn(store: DirectoryStore): EmbeddedAuthority {
    const passwords = { verify: async () => true, isOutdated: () => false } as unknown as Passwords
    return new EmbeddedAuthority({
      store,
      signer: new IamTokenSigner(this.#ring),
      turns: new Turns(),
      pepper: undefined as never,
      passwords,
      failedLogins: { admit: async () => () => {} },
      staticTokenUses: undefined as never,
      now: () => this.#subject.clock.nowMs,
    })
  }
}
