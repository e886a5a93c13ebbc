/** The changes that clients of a day make. */
import { type Account, nextOperation, take } from '../world/accounts.ts'
import type { Operation } from '../world/operations.ts'

/** Most of a day, more is opened than closed. */
export function nextOfDay(account: Account, random: () => number): Operation {
  for (;;) {
    const operation = nextOperation(account, random)
    const next = structuredClone({ ...account, audit: [] })
    if (operation.refused === undefined) take(next, operation)
    if (openness(next) >= openness(account) || random() < CLOSED) return operation
  }
}

function openness({ enabled, restricted, users, tokens }: Account): number {
  const open = Object.values(users).flatMap((user) => [true, user.enabled, user.permitted])
  const alive = tokens.filter(({ dead }) => !dead)
  return [enabled, !restricted, ...open].filter(Boolean).length + alive.length
}

/** This part of the changes that close something is made. */
const CLOSED = 0.15
