/**
 * The recent changes, so that earlier answers can be remembered. It counts moments: each change that is heard
 * of begins a new one. A fact of a moment still holds if none of its dependencies was touched since.
 *
 * Nothing is looked up for a token that was used since the last change. For another one it is a few look-ups
 * in maps of what was touched lately, whatever the number of tokens.
 */
import type { TokenDependency } from './touches.ts'

/** The dependencies of a token's status. */
export interface Dependencies {
  readonly tokenId: string
  /** Ids of the tokens that it was derived from. */
  readonly derivedFrom?: readonly string[]
  readonly subject: { readonly id: string }
  readonly scope: { readonly account: string }
  readonly projectId?: string
}

/** Something about a token that was true at a moment. */
export interface Remembered {
  readonly token: Dependencies
  /** The last moment at which it was true. */
  moment: number
}

/** How many things touched lately are kept, if nothing else is said. Older facts are asked again. */
const TOUCHED_MAX = 100_000

export class RecentChanges {
  #moment = 1
  /** Facts from before this moment no longer count. */
  #since = 1
  readonly #max: number
  readonly #touched: Readonly<Record<TokenDependency, Map<string, number>>> = {
    ...{ token: new Map(), user: new Map(), account: new Map(), project: new Map() },
  }

  constructor(max = TOUCHED_MAX) {
    this.#max = max
  }

  /** A fact that is read from now on holds at this moment or later. */
  get moment(): number {
    return this.#moment
  }

  touch(thing: TokenDependency, id: string): void {
    const touched = this.#touched[thing]
    // The order of a map is that of insertion: the last touched entry comes last.
    touched.delete(id)
    touched.set(id, ++this.#moment)
    if (touched.size > this.#max) this.#forgetHalf(touched)
  }

  /** Anything may have changed. */
  touchAll(): void {
    this.#since = ++this.#moment
    for (const touched of Object.values(this.#touched)) touched.clear()
  }

  /** Whether it is still true. */
  isTrue(remembered: Remembered): boolean {
    if (remembered.moment === this.#moment) return true
    if (remembered.moment < this.#since || this.#wasTouched(remembered)) return false
    remembered.moment = this.#moment
    return true
  }

  #wasTouched({ token, moment }: Remembered): boolean {
    const { token: tokens, user, account, project } = this.#touched
    const after = (at: number | undefined) => at !== undefined && at > moment
    return (
      after(tokens.get(token.tokenId)) ||
      after(user.get(token.subject.id)) ||
      after(account.get(token.scope.account)) ||
      (token.projectId !== undefined && after(project.get(token.projectId))) ||
      (token.derivedFrom?.some((id) => after(tokens.get(id))) ?? false)
    )
  }

  /** Facts from before the last forgotten one must be asked again. */
  #forgetHalf(touched: Map<string, number>): void {
    for (const [id, moment] of touched) {
      if (touched.size <= this.#max / 2) return
      touched.delete(id)
      this.#since = Math.max(this.#since, moment)
    }
  }
}
