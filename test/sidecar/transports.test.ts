/**
 * The same calls on both transports have the same outcome: generated from a seed, several at a time on a connection, with odd
 * framings, slow readers, resets, deadlines, compression, and what no client should send. test/interop/transport makes more.
 */
import { expect, test } from 'vitest'
import { MESSAGE_BYTES_MAX } from '../support/call-kinds.ts'
import { compareServers, KINDS } from '../support/call-sequences.ts'
import { randomFrom } from '../support/random.ts'
import { runSidecar } from '../support/sidecar.ts'

const CONNECTIONS = 200

test(`${CONNECTIONS} connections`, async () => {
  const addressOf = async (transport: string) =>
    (
      await runSidecar({
        flags: { 'grpc.transport': transport, 'grpc.max_message_bytes': MESSAGE_BYTES_MAX },
      })
    ).address
  const addresses = [await addressOf('grpc-js'), await addressOf('sockets')] as const
  const { kinds, differences } = await compareServers(addresses, randomFrom(1), CONNECTIONS)
  expect(differences).toEqual([])
  expect(kinds).toBe(KINDS)
})
