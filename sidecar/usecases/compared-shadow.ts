/**
 * Compares every decision with what a second matrix would have answered, and counts the differences. No
 * answer depends on it. Loaded only where there is such a matrix.
 */
import type { Decision, Engine, Extraction, Matrix } from '../../engine/index.ts'
import type { Rules } from '../rules/rules.ts'
import type { DecisionListener, ListeningShadow, OwnToken } from './asker.ts'
import type { CheckOutcome, ClaimsQuestion, CredentialsQuestion } from './questions.ts'
import type { ShadowDifference, ShadowDirection } from './shadow.ts'
import { type Difference, EnginePair } from './shadow-pair.ts'

/** Most rows, and most accounts of one. Clients can claim any number of accounts. */
const ROWS_MAX = 1_000
const ACCOUNTS_MAX = 20

/** Looking at the clock costs more than all else of a difference, so it is done once in this time. */
const CLOCK_MS = 1_000

/** An account with a longer name is not kept. */
const ACCOUNT_LENGTH_MAX = 256

export interface ShadowOptions {
  /** The rules in force. */
  readonly rules: Rules
  /** Those of the shadow, which keep their matrix, and are closed with it. */
  readonly shadow: Rules
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  /** Called at once, and whenever either of them changes. */
  readonly onBegin: (inForce: Engine, shadow: Engine) => void
  /** The counter of the differences of a cell for the metrics; `undefined`: metrics are off. */
  readonly counterOf: ((api: string, kind: string, direction: ShadowDirection) => () => void) | undefined
  /** Receives the first defect of each pair of matrices. */
  readonly onDefect: (error: unknown) => void
}

interface Row {
  readonly api: string
  readonly kind: string
  readonly direction: ShadowDirection
  count: number
  readonly firstMs: number
  lastMs: number
  readonly accounts: Map<string, { count: number }>
  otherAccounts: number
  readonly tell: (() => void) | undefined
}

export class ComparedShadow implements ListeningShadow {
  readonly #options: ShadowOptions
  readonly #ends: (() => void)[]
  #pair: EnginePair
  /** Digest of the rules in force, whose decisions are compared. */
  // Survives: `''` → `"Stryker was here!"`. The constructor replaces it before it is used.
  #rulesDigest = ''
  #rows = new Map<string, Row[]>()
  #rowCount = 0
  // Survives: `false` → `true`. The constructor replaces it before it is used.
  #isDefective = false
  #nowMs = 0
  readonly #clock: NodeJS.Timeout
  sinceMs = 0
  compared = 0
  beyond = 0

  constructor(options: ShadowOptions) {
    const { rules, shadow } = options
    this.#options = options
    this.#pair = this.#begin()
    this.#clock = setInterval(() => {
      this.#nowMs = options.now()
    }, CLOCK_MS).unref()
    this.#ends = [rules, shadow].map((each) =>
      each.watch(() => {
        this.#pair = this.#begin()
      }),
    )
  }

  get engine(): Engine {
    return this.#options.shadow.engine
  }

  get matrix(): Matrix {
    return this.#options.shadow.matrix as Matrix
  }

  get differences(): readonly ShadowDifference[] {
    return [...this.#rows.values()]
      .flat()
      .sort((a, b) => b.count - a.count)
      .map(({ tell, accounts, ...row }) => ({
        ...row,
        accounts: Array.from(accounts, ([account, { count }]) => ({ account, count })).sort(
          (a, b) => b.count - a.count,
        ),
      }))
  }

  listener(next: DecisionListener | undefined): DecisionListener {
    return new ShadowListener(this, next)
  }

  listeners<Context>(
    nextOf: ((context: Context) => DecisionListener | undefined) | undefined,
  ): (context: Context) => DecisionListener {
    let last: DecisionListener | undefined
    let listener = this.listener(last)
    if (nextOf === undefined) return () => listener
    return (context) => {
      const next = nextOf(context)
      if (next !== last) {
        last = next
        listener = this.listener(next)
      }
      return listener
    }
  }

  /** Looks for a change of its file. */
  reload(): void {
    this.#options.shadow.reload()
  }

  close(): void {
    clearInterval(this.#clock)
    for (const end of this.#ends) end()
    this.#options.shadow.close()
  }

  ofClaims(question: ClaimsQuestion, decision: Decision): Difference {
    if (!this.#isCompared(decision)) return undefined
    try {
      const difference = this.#pair.ofClaims(question, decision)
      if (difference !== undefined)
        this.#count(question.api, question.kind, difference, question.scope?.account)
      return difference
    } catch (error) {
      return this.#failed(error)
    }
  }

  ofKind(api: string, kind: string, decision: Decision): Difference {
    if (!this.#isCompared(decision)) return undefined
    try {
      const difference = this.#pair.ofKind(api, kind, decision)
      if (difference !== undefined) this.#count(api, kind, difference, undefined)
      return difference
    } catch (error) {
      return this.#failed(error)
    }
  }

  ofCredentials(
    question: CredentialsQuestion,
    found: Extraction | undefined,
    outcome: CheckOutcome,
  ): Difference {
    if (!this.#isCompared(outcome.decision)) return undefined
    try {
      const difference = this.#pair.ofCredentials(question, found, outcome)
      const { token } = outcome
      if (difference !== undefined)
        this.#count(question.api, token?.kind ?? '', difference, token?.scope.account)
      return difference
    } catch (error) {
      return this.#failed(error)
    }
  }

  ofOwnToken(api: string, token: OwnToken | undefined, decision: Decision): Difference {
    if (!this.#isCompared(decision)) return undefined
    try {
      const difference = this.#pair.ofOwnToken(api, token, decision)
      if (difference !== undefined) this.#count(api, token?.kind ?? '', difference, token?.scope.account)
      return difference
    } catch (error) {
      return this.#failed(error)
    }
  }

  /** The rules may have changed while the question was answered. */
  #isCompared({ rulesDigest }: Decision): boolean {
    if (rulesDigest !== this.#rulesDigest) return false
    this.compared++
    return true
  }

  /** Whatever is wrong with the shadow: the answer is that of the matrix in force. */
  #failed(error: unknown): undefined {
    if (!this.#isDefective) this.#options.onDefect(error)
    this.#isDefective = true
  }

  #begin(): EnginePair {
    const { rules, shadow, now, onBegin } = this.#options
    this.#rulesDigest = rules.engine.rulesDigest
    this.#isDefective = false
    this.#rows = new Map()
    this.#rowCount = 0
    this.sinceMs = now()
    this.compared = 0
    this.beyond = 0
    onBegin(rules.engine, shadow.engine)
    return new EnginePair(rules.engine, shadow.engine)
  }

  /** APIs and kinds are those of one of the two matrices: of others, both deny everything. */
  #count(api: string, kind: string, direction: ShadowDirection, account: string | undefined): void {
    const row = this.#rowOf(api, kind, direction)
    if (row === undefined) return
    row.count++
    row.lastMs = this.#nowMs
    row.tell?.()
    // Survives: `account === undefined` → `false`. No account is remembered that is not there.
    const known = account === undefined ? undefined : row.accounts.get(account)
    if (known !== undefined) known.count++
    else if (
      account !== undefined &&
      row.accounts.size < ACCOUNTS_MAX &&
      account.length <= ACCOUNT_LENGTH_MAX
    )
      row.accounts.set(account, { count: 1 })
    else row.otherAccounts++
  }

  #rowOf(api: string, kind: string, direction: ShadowDirection): Row | undefined {
    const rows = this.#rows.get(api)
    const found = rows?.find((row) => row.kind === kind && row.direction === direction)
    if (found !== undefined) return found
    const tell = this.#options.counterOf?.(api, kind, direction)
    if (this.#rowCount === ROWS_MAX) {
      this.beyond++
      tell?.()
      return undefined
    }
    const nowMs = this.#options.now()
    this.#nowMs = nowMs
    const row = {
      ...{ api, kind, direction, tell },
      ...{ count: 0, firstMs: nowMs, lastMs: nowMs },
      ...{ accounts: new Map<string, { count: number }>(), otherAccounts: 0 },
    }
    this.#rowCount++
    if (rows === undefined) this.#rows.set(api, [row])
    else rows.push(row)
    return row
  }
}

class ShadowListener implements DecisionListener {
  readonly #shadow: ComparedShadow
  readonly #next: DecisionListener | undefined
  readonly verifying?: NonNullable<DecisionListener['verifying']>

  constructor(shadow: ComparedShadow, next: DecisionListener | undefined) {
    this.#shadow = shadow
    this.#next = next
    if (next?.verifying !== undefined) this.verifying = next.verifying.bind(next)
  }

  startMs(): number {
    return this.#next?.startMs() ?? 0
  }

  forOne(): DecisionListener {
    const one = this.#next?.forOne?.()
    return one === undefined ? this : new ShadowListener(this.#shadow, one)
  }

  ofClaims(question: ClaimsQuestion, decision: Decision): void {
    const difference = this.#shadow.ofClaims(question, decision)
    this.#next?.ofClaims(question, decision, difference)
  }

  ofKind(api: string, kind: string, decision: Decision): void {
    const difference = this.#shadow.ofKind(api, kind, decision)
    this.#next?.ofKind(api, kind, decision, difference)
  }

  ofCredentials(
    question: CredentialsQuestion,
    found: Extraction | undefined,
    outcome: CheckOutcome,
    startMs: number,
  ): void {
    const difference = this.#shadow.ofCredentials(question, found, outcome)
    this.#next?.ofCredentials(question, found, outcome, startMs, difference)
  }

  ofOwnToken(api: string, token: OwnToken | undefined, decision: Decision): void {
    const difference = this.#shadow.ofOwnToken(api, token, decision)
    this.#next?.ofOwnToken(api, token, decision, difference)
  }
}
