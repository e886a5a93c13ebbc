/** Since when the directory has ended a token, or had it in force, whatever calls without an answer did. */
import { type Account, isInForce, type Token } from '../kills/accounts.ts'
import type { Possible } from '../kills/judge.ts'

/** What is known of a token. */
export interface Standing {
  readonly account: Account
  readonly token: Token
  /** Since when it opens nothing, by our clock. Absent: it may open something. */
  closedMs?: number | undefined
  /** Since when it must open what it is for. Absent: it may be closed. */
  openMs?: number | undefined
}

export class Known {
  readonly #standings = new Map<string, Standing>()
  /** Tokens of keys that were withdrawn, and when everybody must know that. */
  readonly #laterMs = new Map<string, number>()

  /** To be called after each change of what is possible. */
  look({ accounts }: Possible): void {
    const nowMs = performance.now()
    for (const states of accounts) {
      const last = states.at(-1) as Account
      for (const [index, token] of last.tokens.entries()) {
        const inForce = states.map((state) => {
          const same = state.tokens[index]
          return same !== undefined && isInForce(state, same)
        })
        const before = this.#standings.get(token.value)
        const closed = !inForce.includes(true)
        const open = !inForce.includes(false) && !token.unsure
        const closedMs = closed
          ? (before?.closedMs ?? Math.max(nowMs, this.#laterMs.get(token.value) ?? 0))
          : undefined
        const openMs = open ? (before?.openMs ?? nowMs) : undefined
        this.#standings.set(token.value, { account: last, token, closedMs, openMs })
      }
    }
  }

  /** These tokens count as ended only from then on. */
  allow(isMeant: (token: Token) => boolean, untilMs: number): void {
    for (const { token } of this.#standings.values())
      if (isMeant(token)) this.#laterMs.set(token.value, untilMs)
  }

  of(value: string): Standing | undefined {
    return this.#standings.get(value)
  }

  /** Mostly those in force, then those that were issued last, then any. */
  some(count: number, random: () => number): Token[] {
    const all = [...this.#standings.values()]
    const open = all.filter(({ closedMs }) => closedMs === undefined)
    return Array.from({ length: count }, () => {
      const chance = random()
      const among = chance < 0.5 && open.length > 0 ? open : chance < 0.8 ? all.slice(-LATE) : all
      return among[Math.floor(random() * among.length)]?.token
    }).filter((token) => token !== undefined)
  }
}

/** Of so many tokens most questions are. */
const LATE = 60
