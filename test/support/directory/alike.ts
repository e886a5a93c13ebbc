/**
 * Two directories, of which each gets the same changes and the same questions from a seed. After each step
 * they have answered the same, and in the end they contain the same.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import { expect, vi } from 'vitest'
import { CallError } from '../../../sidecar/base/call-error.ts'
import type { ChangeAuthor } from '../../../sidecar/directory/author.ts'
import { encoded } from '../../../sidecar/directory/backup/backup-content.ts'
import { AlreadyExists, NoSuchProject } from '../../../sidecar/directory/database.ts'
import type { IamTokenQuery } from '../../../sidecar/directory/directory.ts'
import { PASSING_TABLES, TABLES } from '../../../sidecar/directory/schema.ts'
import type { DirectoryPlace } from '../../../sidecar/directory/snapshot.ts'
import type { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { withSnapshot } from '../../../sidecar/directory/take-snapshot.ts'
import { Dice, randomFrom } from '../inputs/random.ts'
import { ACCOUNTS, CHANGES, Inside, Missing, PROJECTS, tokenIdOf } from './generated-changes.ts'
import { type Known, QUESTIONS } from './generated-questions.ts'

/** A directory under test. */
export interface Side {
  readonly store: DirectoryStore
  /** Where backups find it. */
  readonly place: DirectoryPlace
  /** The work after each step that failed. */
  readonly afterFailure?: () => Promise<unknown>
}

export interface Alike extends Readonly<Record<string, number>> {
  readonly changes: number
  /** Transactions that took no effect. */
  readonly refused: number
  readonly questions: number
  readonly tokens: number
}

/** How often a change is chosen; each other one once. A missing record cannot be changed. */
const OFTEN: Readonly<Record<string, number>> = {
  createAccount: 5,
  createProject: 5,
  createUser: 10,
  setPermissions: 5,
  addStaticToken: 3,
  beginSession: 3,
  add: 3,
}

/** Tokens of which each is asked about after each step, at most. */
const TOKENS_ASKED = 10

const AUTHORS: readonly (ChangeAuthor | string)[] = [
  ...['a test', 'Other é'],
  {
    ...{ name: 'a user', lane: 'users', principal: 'u' },
    origin: { protocol: 'grpc', address: '192.0.2.7', requestId: 'r', tokenId: 't', account: '1' },
  },
]

/**
 * @param sides opened for each run of steps, so that they may be opened anew in between
 * @throws AssertionError with the step where they differ
 */
export async function staysAlike(
  seed: number,
  steps: number,
  clock: { nowMs: number },
  sides: () => Promise<readonly [Side, Side]>,
): Promise<Alike> {
  const both = new Both(new Dice(randomFrom(seed)), clock, sides)
  const bytes = vi
    .spyOn(crypto, 'randomBytes')
    .mockImplementation(((size: number) => both.bytes(size)) as never)
  syncBuiltinESMExports()
  try {
    for (let step = 0; step < steps; step++) await both.step(`SEED=${seed}, step ${step}`)
    await both.containTheSame(`SEED=${seed}, in the end`)
  } finally {
    bytes.mockRestore()
    syncBuiltinESMExports()
  }
  return both.counts
}

const NAMED_CHANGES = Object.values(CHANGES).flatMap((room) =>
  Object.entries(room).flatMap(([name, plan]) =>
    Array.from({ length: OFTEN[name] ?? 1 }, () => ({ name, plan })),
  ),
)
const NAMED_QUESTIONS = Object.entries(QUESTIONS).flatMap(([room, questions]) =>
  Object.entries(questions).map(([name, question]) => ({ name: `${room}.${name}`, question })),
)

class Both {
  readonly counts = { changes: 0, refused: 0, questions: 0, tokens: 0 }
  readonly #dice: Dice
  readonly #clock: { nowMs: number }
  readonly #sides: () => Promise<readonly [Side, Side]>
  readonly #tokens: IamTokenQuery[] = []
  readonly #ids = new Set<string>()
  /** Of the side whose turn it is. */
  #random = randomFrom(0)

  constructor(dice: Dice, clock: { nowMs: number }, sides: () => Promise<readonly [Side, Side]>) {
    this.#dice = dice
    this.#clock = clock
    this.#sides = sides
  }

  /** In place of those of the machine, so that both sides make the same ids. */
  bytes(size: number): Buffer {
    return Buffer.from(Array.from({ length: size }, () => Math.floor(this.#random() * 256)))
  }

  async step(what: string): Promise<void> {
    const dice = this.#dice
    // A clock may go back.
    this.#clock.nowMs += dice.of(10) === 0 ? -dice.of(60_000) : dice.of(20_000)
    if (dice.of(2) === 0) await this.#change(what)
    else await this.#ask(what)
    if (dice.of(3) === 0) await this.#issue(what)
    for (let index = 0; index < Math.min(TOKENS_ASKED, this.#tokens.length); index++) {
      const token = dice.one(this.#tokens)
      await this.#same(`${what}: ${JSON.stringify(token)}`, ({ store }) =>
        store.verification.iamTokenStatus(token),
      )
    }
  }

  async #change(what: string): Promise<void> {
    const dice = this.#dice
    const chosen = Array.from({ length: 1 + dice.of(3) }, () => dice.one(NAMED_CHANGES))
    const plans = chosen.map(({ plan }) => ({ run: plan(dice), catches: dice.of(3) === 0 }))
    const [undone, author] = [dice.of(15) === 0, dice.one(AUTHORS)]
    const { nowMs } = this.#clock
    const names = chosen.map(({ name }) => name).join(', ')
    const outcome = await this.#same(`${what}: ${names}`, ({ store }) =>
      store.change(author, async (change) => {
        const inside = new Inside(change, nowMs)
        const done: unknown[] = []
        for (const { run, catches } of plans)
          try {
            done.push(await run(inside))
          } catch (error) {
            // A failure in a transaction fails it, even if no step reports it.
            if (error instanceof Missing || catches) done.push('nothing')
            else throw error
          }
        if (undone) throw new Undone()
        return done
      }),
    )
    this.counts.changes++
    if ('error' in outcome) this.counts.refused++
  }

  async #ask(what: string): Promise<void> {
    const { name, question } = this.#dice.one(NAMED_QUESTIONS)
    const known: Known = { nowMs: this.#clock.nowMs, tokens: this.#tokens, ids: [...this.#ids] }
    const ask = question(this.#dice, known)
    const outcome = await this.#same(`${what}: ${name}`, ({ store }) => ask(store))
    this.counts.questions++
    for (const id of idsIn(outcome)) this.#ids.add(id)
  }

  /** A token as a login would get it. */
  async #issue(what: string): Promise<void> {
    const dice = this.#dice
    const [account, project] = [dice.one(ACCOUNTS), dice.one([undefined, ...PROJECTS])]
    const scopes = dice.one([['account'], ['projects'], ['account', 'projects']])
    const type = dice.one(['service_user', 'control_panel_user'] as const)
    const page = { after: dice.one(['', 'a']), size: 1 }
    const outcome = await this.#same(`${what}: issues a token`, async ({ store }) => {
      const [user] = await store.records.users(account, type, page)
      const grant = user && (await store.verification.permits(user.id, account, project, scopes))
      return { user, grant }
    })
    if (!('value' in outcome)) return
    const { user, grant } = outcome.value
    if (user === undefined || grant === undefined) return
    this.#ids.add(user.id)
    this.counts.tokens++
    this.#tokens.push({
      ...{ tokenId: tokenIdOf(dice.of(30)), ancestors: [], subjectId: user.id, generation: user.generation },
      ...{ changeNumber: grant.changeNumber, account, projectId: grant.projectId, permissionScopes: scopes },
    })
    if (this.#tokens.length > 40) this.#tokens.shift()
  }

  async #same<T>(what: string, work: (side: Side) => T | Promise<T>): Promise<Outcome<T>> {
    const seed = this.#dice.of(2 ** 31)
    const outcomes: Outcome<T>[] = []
    for (const side of await this.#sides()) {
      this.#random = randomFrom(seed)
      const outcome = await outcomeOf(() => work(side))
      if ('error' in outcome) await side.afterFailure?.()
      outcomes.push(outcome)
    }
    const [left, right] = outcomes as [Outcome<T>, Outcome<T>]
    if (!isDeepStrictEqual(left, right)) expect(right, what).toEqual(left)
    return left
  }

  /** Compares every row of every table, as backups have them. */
  async containTheSame(what: string): Promise<void> {
    for (const table of [...TABLES.map(({ name }) => name), ...PASSING_TABLES])
      await this.#same(`${what}: ${table}`, ({ place }) =>
        withSnapshot(place, async (snapshot) => {
          const rows = await snapshot.all(`SELECT * FROM ${table}`)
          return rows.map((row) => JSON.stringify(Object.entries(encoded(row)).toSorted())).toSorted()
        }),
      )
  }
}

/** Something in a transaction failed that does not concern the directory. */
class Undone extends Error {
  override readonly name = 'Undone'
}

type Outcome<T> = { readonly value: T } | { readonly error: readonly unknown[] }

async function outcomeOf<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() }
  } catch (error) {
    if (error instanceof CallError) return { error: [error.reason, error.metadata] }
    if (error instanceof NoSuchProject) return { error: [error.name, error.message] }
    // A database words it in its own way.
    if (error instanceof AlreadyExists || error instanceof Undone) return { error: [error.name] }
    throw error
  }
}

/** Ids, wherever they are in an answer. */
function idsIn(value: unknown): string[] {
  if (typeof value === 'string') return /^[0-9a-f]{32}$/.test(value) ? [value] : []
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return []
  return Object.values(value).flatMap(idsIn)
}
