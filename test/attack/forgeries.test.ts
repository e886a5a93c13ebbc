/**
 * Forged tokens: only their sender waits for them, and a neighbour's tokens are answered meanwhile, new ones
 * too.
 */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { connect } from '../../clients/typescript/index.ts'
import {
  attackedSidecar,
  RATIO_MAX,
  ratio,
  report,
  type Scene,
  type Times,
  timesOf,
} from '../support/attack/attack-scene.ts'
import type { Forgeries } from '../support/attack/forger.ts'
import { isTooLong } from '../support/attack/goals.ts'
import { scenario } from '../support/attack/scenario.ts'
import { decodedPart, signedToken, signingKey } from '../support/identity/signed-token.ts'

type Attack = Omit<Forgeries, 'type' | 'token'>

const ATTACKS: readonly (readonly [claim: string, attack: Attack])[] = [
  [
    '20 batches of 1,000 forged tokens in flight on 10 connections',
    { batches: { connections: 10, inFlight: 2, length: 1_000 } },
  ],
  ['checks of forged tokens on 400 connections', { checks: { connections: 400, inFlight: 3 } }],
  [
    'checks and batches of forged tokens on 140 connections',
    {
      checks: { connections: 100, inFlight: 5 },
      batches: { connections: 40, inFlight: 3, length: 100 },
    },
  ],
]

const ON_BOTH_TRANSPORTS = ['sockets', 'grpc-js'].flatMap((transport) =>
  ATTACKS.map(([claim, attack]) => [`${claim} (${transport})`, transport, attack] as const),
)

const NEW_TOKENS_MS = 2_000
const PAUSE_MS = 2

// A slow result is measured once more, because times scatter with other work of the machine.
test.each(ON_BOTH_TRANSPORTS)('%s', { retry: 1 }, async (claim, transport, attack) => {
  const scene = await attackedSidecar({ grpc: { transport } })
  await newTokens(scene)
  const quiet = await newTokens(scene)
  const forgeries = { type: 'forgeries', token: scene.token, ...attack } as const
  const { also: attacked } = await scenario(scene, claim, forgeries, () => newTokens(scene))
  report(`new tokens: ${claim}`, {
    'check p50': ratio(attacked.p50, quiet.p50),
    'check p99': ratio(attacked.p99, quiet.p99),
  })
  expect(attacked.failures).toEqual([])
  const long = (['p50', 'p99'] as const).filter((at) => isTooLong(attacked[at], quiet[at], RATIO_MAX))
  expect(long).toEqual([])
})

/** Checks by a neighbour of genuine tokens that the sidecar has never seen. */
async function newTokens({ served, data, token }: Scene): Promise<Times> {
  const key = signingKey(data)
  const claims = decodedPart(token, 1)
  // They are signed before the clock starts.
  const tokens = Array.from({ length: NEW_TOKENS_MS / PAUSE_MS }, () =>
    signedToken(key, { ...claims, jti: randomBytes(16).toString('base64url') }),
  )
  const client = connect(served.ready.grpc)
  const end = performance.now() + NEW_TOKENS_MS
  const check = async () => {
    const credentials: [string, string][] = [['X-Auth-Token', tokens.pop() ?? token]]
    const { reason } = await client.check({ api: 'dedicated-servers', credentials })
    if (reason !== 'ALLOWED') throw new Error(reason)
  }
  await client.check({ api: 'dedicated-servers', credentials: [['X-Auth-Token', token]] })
  try {
    return await timesOf(() => performance.now() < end, check, PAUSE_MS)
  } finally {
    client.close()
  }
}
