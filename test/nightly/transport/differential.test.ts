/**
 * The same calls at two sidecars, one on each transport: same messages, same order, same statuses, same
 * details.
 */
import { expect, test } from 'vitest'
import { MESSAGE_BYTES_MAX } from '../../support/contract/call-kinds.ts'
import { compareServers, KINDS } from '../../support/contract/call-sequences.ts'
import { randomFrom } from '../../support/inputs/random.ts'
import { serveDemoOn } from '../../support/interop/transports.ts'

/** Connections of one seed. */
const CONNECTIONS = 1000

const environment = { PORTCULLIS_GRPC_MAX_MESSAGE_BYTES: String(MESSAGE_BYTES_MAX) }
const [reference, own] = await Promise.all([
  serveDemoOn('grpc-js', { environment }),
  serveDemoOn('sockets', { environment }),
])

test.each([1, 2, 3])(`${CONNECTIONS} connections with calls at random (seed %i)`, async (seed) => {
  const addresses = [reference.ready.grpc, own.ready.grpc] as const
  const { kinds, calls, differences } = await compareServers(addresses, randomFrom(seed), CONNECTIONS)
  process.stderr.write(`interop: ${calls} calls of ${kinds} kinds on both transports\n`)
  expect(differences).toEqual([])
  expect(kinds).toBe(KINDS)
})
