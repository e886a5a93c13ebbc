/**
 * The facts that clients know of a directory: acknowledged changes, and the calls that are under way. They
 * change several accounts at once, and the matrix in force.
 */
import { type Client, PortcullisError } from '../../clients/typescript/index.ts'
import { type Account, learn, newAccount, nextOperation, restored, type Token, take } from './accounts.ts'
import { type Learned, type Operation, perform } from './operations.ts'

/** A promise that was broken. */
export class Violation extends Error {}

/** A call has no answer: it may have done what it asked for, or not. */
export class Unanswered extends Error {}

/** The changes beside the accounts. */
export interface Rollout {
  readonly promoted: boolean
  /** Actions of the audit trail that are of no account. */
  readonly audit: readonly string[]
}

export interface State {
  readonly accounts: readonly Account[]
  readonly rollout: Rollout
}

/** The possible states of each part: as acknowledged, or with the call that was under way. */
export interface Possible {
  readonly accounts: readonly (readonly Account[])[]
  readonly rollouts: readonly Rollout[]
}

/** Accounts that are changed at the same time. */
const LANES = 3

const REASON = 'agreed'
const TO_CONFIGURED = { $case: 'toConfigured', value: true } as const

export class Truth {
  #lanes: Account[][] = Array.from({ length: LANES }, (_, lane) => [newAccount(lane)])
  #rollouts: Rollout[] = [{ promoted: false, audit: [] }]
  #restored: Possible | undefined
  readonly #random: () => number
  readonly #onChange: () => void
  /** Calls that were acknowledged. */
  acknowledged = 0
  refused = 0

  readonly #choose: typeof nextOperation

  /**
   * @param onChange called before each call, and after its answer
   * @param choose what is done next
   */
  constructor(random: () => number, onChange: () => void = () => {}, choose = nextOperation) {
    this.#random = random
    this.#onChange = onChange
    this.#choose = choose
  }

  /** The possible states of the directory. */
  get possible(): readonly Possible[] {
    const now = { accounts: this.#lanes.map((states) => [...states]), rollouts: [...this.#rollouts] }
    return this.#restored === undefined ? [now] : [now, this.#restored]
  }

  /** Sets the state that was found. From now on, nothing else is possible. */
  is({ accounts, rollout }: State): void {
    this.#lanes = accounts.map((account) => [account])
    this.#rollouts = [rollout]
    this.#restored = undefined
    this.#onChange()
  }

  get state(): State {
    return {
      accounts: this.#lanes.map(([account]) => account as Account),
      rollout: this.#rollouts[0] as Rollout,
    }
  }

  /** Makes this many calls in each lane. Ends earlier where one is not answered. */
  async operate(client: Client, calls: number): Promise<void> {
    const lanes = this.#lanes.map(async (_, lane) => {
      for (let call = 0; call < calls; call++) if (!(await this.#call(client, lane))) return
    })
    await Promise.all([...lanes, this.#rollOut(client)])
  }

  async #call(client: Client, lane: number): Promise<boolean> {
    const operation = this.#choose((this.#lanes[lane] as [Account])[0], this.#random)
    return this.attempt(lane, operation, () => perform(client, operation))
  }

  /**
   * Has an operation made that changes a lane. Returns whether it was answered.
   *
   * @param make throws `PortcullisError`, or `Unanswered` where it is not known what it did
   * @throws Violation where the answer is another one than the directory must give
   */
  async attempt(lane: number, operation: Operation, make: () => Promise<Learned>): Promise<boolean> {
    const { what, refused } = operation
    const [now] = this.#lanes[lane] as [Account]
    const next = structuredClone(now)
    if (refused === undefined) take(next, operation)
    this.#lanes[lane] = [now, next]
    this.#onChange()
    try {
      learn(next, operation, await make())
    } catch (error) {
      if (isUnanswered(error)) return false
      if (!(error instanceof PortcullisError) || error.reason !== refused)
        throw new Violation(`${what}: ${error}`, { cause: error })
      this.refused++
      this.#lanes[lane] = [now]
      this.#onChange()
      return true
    }
    if (refused !== undefined) throw new Violation(`${what}: it was not refused`)
    this.acknowledged++
    this.#lanes[lane] = [next]
    this.#onChange()
    return true
  }

  /** Puts the other matrix in force. */
  async #rollOut({ directory }: Client): Promise<void> {
    const [now] = this.#rollouts as [Rollout]
    try {
      const { digest, shadow } = await directory.getMatrixRollout({})
      const action = now.promoted ? 'matrix.roll_back' : 'matrix.promote'
      const next = { promoted: !now.promoted, audit: [...now.audit, action] }
      this.#rollouts = [now, next]
      this.#onChange()
      if (now.promoted) await directory.rollBackMatrix({ digest, reason: REASON, to: TO_CONFIGURED })
      else await directory.promoteMatrix({ digest, shadowDigest: shadow?.digest ?? '', reason: REASON })
      this.#rollouts = [next]
      this.acknowledged++
      this.#onChange()
    } catch (error) {
      if (!isUnanswered(error)) throw error
    }
  }

  /** Whether a call was not answered, so that its outcome is unknown. */
  get isUnsure(): boolean {
    return this.#rollouts.length > 1 || this.#lanes.some((states) => states.length > 1)
  }

  /** Changes what is known of tokens, whatever the accounts are like: `dead` or `unsure` from now on. */
  mark(as: 'dead' | 'unsure', isMeant: (token: Token) => boolean): void {
    for (const { tokens } of this.#lanes.flat())
      for (const token of tokens) if (isMeant(token)) token[as] = true
    this.#onChange()
  }

  /** A restoration begins: from now on, everything may be as in the backup, or as it was. */
  beginRestoration(backup: State): void {
    const now = this.state
    const accounts = now.accounts.map((account, lane) => restored(backup.accounts[lane] as Account, account))
    const audit = [...backup.rollout.audit, 'directory.restore']
    const rollouts = [{ ...backup.rollout, audit }]
    this.#restored = { accounts: accounts.map((account) => [account]), rollouts }
    this.#onChange()
  }

  /** It was acknowledged. */
  endRestoration(): void {
    const { accounts, rollouts } = this.#restored as Possible
    this.is({ accounts: accounts.map(([account]) => account as Account), rollout: rollouts[0] as Rollout })
  }
}

/** Whether an error says nothing of what the call did. */
export function isUnanswered(error: unknown): boolean {
  if (error instanceof Unanswered) return true
  return error instanceof PortcullisError && (error.reason === '' || error.code === 'UNAVAILABLE')
}
