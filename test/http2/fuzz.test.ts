/**
 * Frames that were damaged: nothing throws, nothing hangs, what is held stays bounded, and a neighbour is
 * answered. By hand, for as long as you like: HTTP2_FUZZ_FRAMES=100000000 npx vitest run
 * test/http2/fuzz.test.ts
 */
import { expect, test } from 'vitest'
import type { Application } from '../../sidecar/transports/http2/application.ts'
import { constant } from '../support/http2/constant.ts'
import { everyKind } from '../support/http2/every-kind.ts'
import { callOf, END_HEADERS, FRAME, frame, PREFACE } from '../support/http2/frames.ts'
import { FrameMutator } from '../support/http2/mutations.ts'
import { described, TestServer } from '../support/http2/peer.ts'

const FRAMES = Number(process.env.HTTP2_FUZZ_FRAMES ?? 20_000)
/** Most conversations on a connection before the next one. */
const TALKS_A_CONNECTION = 30
const SEED = Number(process.env.HTTP2_FUZZ_SEED ?? 1)

/** Longer than the requests. */
const answer = Buffer.alloc(3_000, 'x')

test.each<[what: string, app: Application<unknown>, frames: number]>([
  ['HTTP/2 alone', constant(answer), FRAMES],
  ['gRPC', everyKind(answer, [['/later', { type: 'unary', handle: async () => answer }]]), FRAMES / 5],
])('damaged frames: %s', { timeout: 0 }, async (_what, app, frames) => {
  const server = new TestServer(app, { bufferBytes: 1_000_000, streams: 20 })
  const neighbour = server.connect().send(PREFACE)
  const mutator = new FrameMutator(SEED)
  const ends = new Map<string, number>()
  for (let call = 1; mutator.frames < frames; call += 2) {
    const peer = server.connect().send(PREFACE)
    mutator.begin()
    for (let talk = 0; talk < TALKS_A_CONNECTION && !peer.ended; talk++) peer.send(mutator.next())
    const last = peer.received().map(described).at(-1) ?? 'nothing'
    const key = last.replace(/ \d+/, '')
    ends.set(key, (ends.get(key) ?? 0) + 1)
    peer.socket.emit('close')
    if (call % 200 !== 1) continue
    // Handlers and timers that waited have their turn, too.
    await new Promise(setImmediate)
    expect(server.http2.budget.bytes).toBe(0)
    neighbour.received()
    neighbour.send(
      frame(FRAME.headers, { flags: END_HEADERS, stream: call, payload: callOf('/unary') }),
      frame(FRAME.data, { flags: 0x1, stream: call, payload: Buffer.alloc(5) }),
      frame(0x8, { payload: Buffer.of(0, 0, 0x20, 0) }),
    )
    expect(
      neighbour
        .received()
        .map(described)
        .filter((each) => each !== 'WINDOW_UPDATE'),
    ).toEqual([`HEADERS ${call}`, `DATA ${call}`, `HEADERS ${call} END_STREAM`])
    neighbour.forget()
    server.pass(250)
  }
  expect(server.http2.connections).toBe(1)
  // Damage of many sorts was noticed, and some frames stayed good.
  for (const each of ['GOAWAY PROTOCOL_ERROR', 'GOAWAY COMPRESSION_ERROR', 'HEADERS END_STREAM'])
    expect([...ends.keys()]).toContain(each)
})
