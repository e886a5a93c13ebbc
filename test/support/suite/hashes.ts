/**
 * The hashes of passwords that this process derives: counted, and held back where a test wants a call to
 * wait. `setup.ts` loads it before the code that derives them.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

/** How many were begun. A test sets it back. */
export const hashes = { count: 0 }

let held: (() => void)[] | undefined

/** Begins no hash until the returned function is called. */
export function holdHashes(): () => void {
  const mine: (() => void)[] = []
  held = mine
  return () => {
    held = undefined
    for (const begin of mine.splice(0)) begin()
  }
}

const { argon2 } = crypto

Object.assign(crypto, {
  argon2: (...args: Parameters<typeof argon2>) => {
    hashes.count++
    if (held === undefined) argon2(...args)
    else held.push(() => argon2(...args))
  },
})
syncBuiltinESMExports()
