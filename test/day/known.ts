/**
 * The answers that the directory may have given about each token over time, whatever calls without an answer
 * did.
 */
import { type Account, isInForce, type Token } from '../world/accounts.ts'
import { note, type Said } from '../world/standing.ts'
import type { Possible } from '../world/truth.ts'

/** The facts that are known of a token. */
export interface Standing {
  account: Account
  token: Token
  /** By our clock. */
  readonly said: Said[]
}

export class Known {
  readonly #standings = new Map<string, Standing>()
  /** Tokens of keys that were withdrawn, and the time from which every sidecar must know that. */
  readonly #laterMs = new Map<string, number>()

  /** To be called after each change of what is possible. */
  look({ accounts }: Possible): void {
    const nowMs = performance.now()
    for (const states of accounts) {
      const account = states.at(-1) as Account
      for (const [index, token] of account.tokens.entries()) {
        const inForce = states.map((state) => {
          const same = state.tokens[index]
          return same !== undefined && isInForce(state, same)
        })
        const standing = this.#standings.get(token.value) ?? { account, token, said: [] }
        this.#standings.set(token.value, Object.assign(standing, { account, token }))
        if (!inForce.includes(true))
          note(standing.said, false, Math.max(nowMs, this.#laterMs.get(token.value) ?? 0))
        else note(standing.said, inForce.includes(false) || token.unsure ? undefined : true, nowMs)
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
    const open = all.filter(({ said }) => said.at(-1)?.active !== false)
    return Array.from({ length: count }, () => {
      const chance = random()
      const among = chance < 0.5 && open.length > 0 ? open : chance < 0.8 ? all.slice(-LATE) : all
      return among[Math.floor(random() * among.length)]?.token
    }).filter((token) => token !== undefined)
  }
}

/** Most questions are about this many tokens. */
const LATE = 60
