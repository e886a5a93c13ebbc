/** What clients of a day change. */
import { type Account, nextOperation, type Operation } from '../kills/accounts.ts'

/** Most of a day, more is opened than closed. */
export function nextOfDay(account: Account, random: () => number): Operation {
  for (;;) {
    const operation = nextOperation(account, random)
    const next = structuredClone({ ...account, audit: [] })
    operation.change(next)
    if (openness(next) >= openness(account) || random() < CLOSED) return operation
  }
}

function openness({ enabled, ranges, users, tokens }: Account): number {
  const open = Object.values(users).flatMap((user) => [true, user.enabled, user.permitted])
  const alive = tokens.filter(({ dead }) => !dead)
  return [enabled, ranges.length === 0, ...open].filter(Boolean).length + alive.length
}

/** So many of the changes that close something are made. */
const CLOSED = 0.15
