/** Bodies of HTTP whose reading takes milliseconds, and many requests at once: connections take turns with them. */
import { setImmediate } from 'node:timers/promises'
import Fastify, { type FastifyRequest } from 'fastify'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { readJson } from '../../matrix/document/index.ts'
import { Turns } from '../../sidecar/base/turns.ts'
import { Bounds } from '../../sidecar/http/bounds.ts'
import { JsonBodies } from '../../sidecar/http/json.ts'
import { requestOf } from '../../sidecar/transports/connect/exchange.ts'
import { Descriptors } from '../../sidecar/transports/connect/json.ts'

/** Bytes of a body that takes its turn. */
const LONG = 100_000

/** Turns in which nothing more is done before the next turn of the event loop. */
function exhausted(turns = new Turns()): Turns {
  turns.run({}, () => {
    const end = performance.now() + 2
    while (performance.now() < end);
  })
  return turns
}

/** A request with that body, on a connection of its own. */
function requestWith(body: string, socket = { destroyed: false, remotePort: 1 }): FastifyRequest {
  return { headers: {}, body: Buffer.from(body), raw: { socket }, socket } as never
}

const longBody = (end = '1') => `[${'0,'.repeat(LONG / 2)}${end}]`
const same = (value: unknown) => value

test('a long body waits for its turn, and a short one does not', async () => {
  const bodies = new JsonBodies(exhausted())
  expect(bodies.read(requestWith('[1]'), same)).toEqual([1])
  const waiting = bodies.read(requestWith(longBody()), same)
  expect(waiting).toBeInstanceOf(Promise)
  expect(await waiting).toHaveLength(LONG / 2 + 1)
})

test('what is not understood makes its connection wait for others', async () => {
  const turns = exhausted()
  const bodies = new JsonBodies(turns)
  const socket = { destroyed: false, remotePort: 1 }
  const understand = () => {
    throw new Error('not a login')
  }
  await expect(bodies.read(requestWith(longBody(), socket), understand)).rejects.toThrow('not a login')
  await expect(bodies.read(requestWith(longBody('"'), socket), same)).rejects.toThrow(
    'the body: expected JSON',
  )
  await setImmediate()
  exhausted(turns)
  const waiting = [
    bodies.read(requestWith(longBody(), socket), same),
    bodies.read(requestWith(longBody()), same),
  ]
  expect(turns.waiting).toEqual({ unsuspected: 1, suspected: 1 })
  await Promise.all(waiting)
})

test('at most 16 MiB of bodies wait, and none for a client that has gone', async () => {
  const bodies = new JsonBodies(exhausted())
  const gone = requestWith(longBody(), { destroyed: true, remotePort: 1 })
  const waiting = Array.from({ length: 167 }, () => bodies.read(gone, same))
  await expect(bodies.read(gone, same)).rejects.toMatchObject({ reason: 'VERIFICATIONS_EXHAUSTED' })
  const ended = await Promise.allSettled(waiting)
  expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(167)
  expect(await bodies.read(requestWith(longBody()), same)).toHaveLength(LONG / 2 + 1)
})

test('a body that is refused is read to its first problem', () => {
  const text = '{"a":0,"a":0,"a":0}'
  const problems = (firstProblem: boolean) => {
    const reading = readJson(text, { firstProblem })
    return reading.ok ? [] : reading.problems
  }
  expect(problems(true)).toEqual(problems(false).slice(0, 1))
  expect(problems(false)).toHaveLength(2)
})

test('a long call of the contract in JSON waits for its turn', async () => {
  const json = new Descriptors().codecOf('/portcullis.v1.AuthorizationService/CheckBatch')
  const checks = (count: number) => Buffer.from(JSON.stringify({ checks: Array(count).fill({ api: 'cdn' }) }))
  const connection = { protocol: 'http', address: undefined, certificateNames: [] } as const
  const turns = exhausted()
  expect(requestOf(checks(1), json, connection, turns)).toBeInstanceOf(Buffer)
  const waiting = requestOf(checks(1_000), json, connection, turns)
  expect(waiting).toBeInstanceOf(Promise)
  expect(await waiting).toEqual(json?.read(checks(1_000)))
})

test('a connection begins one request in a turn of the event loop', async () => {
  const bounds = new Bounds({ log: pino({ enabled: false }) }, Fastify())
  const begun: string[] = []
  const begin = (name: string, { raw }: FastifyRequest) => bounds.begin(raw, () => begun.push(name))
  const [one, other] = [requestWith(''), requestWith('')]
  begin('first', one)
  begin('second', one)
  begin('of another', other)
  expect(begun).toEqual(['first', 'of another'])
  await setImmediate()
  expect(begun).toEqual(['first', 'of another', 'second'])
  begin('third', one)
  expect(begun.at(-1)).toBe('third')
})
