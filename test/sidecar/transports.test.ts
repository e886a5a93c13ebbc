/**
 * The same calls on both transports have the same outcome: generated from a seed, several at a time on a
 * connection, with odd framings, slow readers, resets, deadlines, compression, and what no client should
 * send. test/interop/transport makes more.
 */
import { expect, test } from 'vitest'
import { messageType } from '../support/contract/black-box.ts'
import { MESSAGE_BYTES_MAX } from '../support/contract/call-kinds.ts'
import { compareServers, KINDS } from '../support/contract/call-sequences.ts'
import {
  callOf,
  END_HEADERS,
  END_STREAM,
  FRAME,
  field,
  frame,
  messageFrame,
  PREFACE,
  settingsOf,
} from '../support/http2/frames.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { openRaw } from '../support/interop/raw-connection.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually } from '../support/suite/resources.ts'

const CONNECTIONS = 80

/** Calls of one connection. */
const CALLS = 200

test.each(['grpc-js', 'sockets'])(
  '%s: a call that has ended keeps no timer for its deadline',
  async (transport) => {
    const { address } = await runSidecar({ flags: { 'grpc.transport': transport } })
    const before = timers()
    let answered = 0
    const { socket, closed } = openRaw(address, (received) => {
      if (received[3] === FRAME.headers && (received[4] ?? 0) & END_STREAM && ++answered === CALLS)
        socket.destroy()
    })
    // Answers wait for a window, and then come all at once.
    const windows = (bytes: number) => frame(FRAME.settings, { payload: settingsOf({ 4: bytes }) })
    socket.write(Buffer.concat([PREFACE, windows(0), ...callsWithDeadlines()]))
    socket.write(windows(65_535))
    await closed
    expect(answered).toBe(CALLS)
    await eventually(() => timers() < before + CALLS / 4)
  },
)

/** Unary calls and streams, of which each has a deadline that is far away. */
function callsWithDeadlines(): Buffer[] {
  const check = { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } }
  const unary = messageType('CheckRequest').serialize(check)
  const streamed = messageType('CheckStreamRequest').serialize({ id: 'q', check })
  return Array.from({ length: CALLS }, (_, index) => {
    const stream = 2 * index + 1
    const [method, message] = index % 2 === 0 ? ['CheckStream', streamed] : ['Check', unary]
    const path = `/portcullis.v1.AuthorizationService/${method}`
    const payload = Buffer.concat([callOf(path), field('grpc-timeout', '2000000S')])
    return Buffer.concat([
      frame(FRAME.headers, { flags: END_HEADERS, stream, payload }),
      frame(FRAME.data, { flags: END_STREAM, stream, payload: messageFrame(message as Buffer) }),
    ])
  })
}

/** How many timers this process has. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
}

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
