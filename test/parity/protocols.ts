/**
 * Every protocol that decides. One that is added to the product is added here: `complete.test.ts` finds the
 * missing ones.
 */
import type { Protocol } from './protocol.ts'
import { AUTHZEN } from './protocols/authzen.ts'
import { COMMANDS } from './protocols/command-line.ts'
import { CONNECT } from './protocols/connect.ts'
import { CONTRACT } from './protocols/contract.ts'
import { MIDDLEWARE } from './protocols/middleware.ts'
import { PROXIES } from './protocols/proxies.ts'

export const PROTOCOLS: readonly Protocol[] = [
  ...CONTRACT,
  ...CONNECT,
  ...PROXIES,
  ...AUTHZEN,
  ...COMMANDS,
  ...MIDDLEWARE,
]

/** A protocol that asks no sidecar is asked about the shipped matrix alone. */
export const ASKING = PROTOCOLS.filter(({ name }) => name !== 'portcullis explain')
