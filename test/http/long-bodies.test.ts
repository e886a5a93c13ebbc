/**
 * Bodies of HTTP whose reading takes milliseconds, and many requests at once: connections take turns with
 * them.
 */
import { setImmediate } from 'node:timers/promises'
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { readJson } from '../../matrix/document/index.ts'
import { CallError } from '../../sidecar/base/call-error.ts'
import type { HttpRequest } from '../../sidecar/base/http/exchange.ts'
import { Reports } from '../../sidecar/base/net/reports.ts'
import { Turns } from '../../sidecar/base/turns.ts'
import { Bounds } from '../../sidecar/http/bounds.ts'
import { JsonBodies } from '../../sidecar/http/json.ts'
import { requestOf } from '../../sidecar/transports/connect/exchange.ts'
import { Descriptors, type JsonCodec } from '../../sidecar/transports/connect/json-codec.ts'
import { working } from '../support/suite/resources.ts'

/** Bytes of a body that takes its turn. */
const LONG = 100_000

/** Turns in which nothing more is done before the next turn of the event loop. */
function exhausted(turns = new Turns()): Turns {
  turns.run({}, () => {
    working(2)
  })
  return turns
}

/** A request with that body, on a separate connection. */
function requestWith(body: string, socket = { destroyed: false, remotePort: 1 }): HttpRequest {
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

test('a body that is not understood makes its connection wait for others', async () => {
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

describe('a long call of the contract in JSON', () => {
  const codecOf = (method: string) =>
    new Descriptors().codecOf(`/portcullis.v1.AuthorizationService/${method}`) as JsonCodec
  const json = codecOf('CheckBatch')
  const connection = { protocol: 'http', address: undefined, certificateNames: [] } as const
  const sender = (turns: Turns, isOver = () => false) => ({ connection, turns, isOver })
  const header = { name: 'X-Auth-Token', value: 'a:\\"{[,é'.repeat(200) }
  const batchOf = (count: number) =>
    Buffer.from(
      JSON.stringify({ checks: Array(count).fill({ api: 'cdn', credentials: { headers: [header] } }) }),
    )

  test('waits for its turn, and a short one does not', async () => {
    const turns = exhausted()
    expect(requestOf(batchOf(1), json, sender(turns))).toBeInstanceOf(Buffer)
    const waiting = requestOf(batchOf(10), json, sender(turns))
    expect(waiting).toBeInstanceOf(Promise)
    expect(await waiting).toEqual(json.read(batchOf(10)))
  })

  test('is read member by member, and others have their turn between them', async () => {
    const long = batchOf(1_000)
    expect(long.length).toBeGreaterThan(2_000_000)
    const parse = vi.spyOn(JSON, 'parse')
    // Each look at the clock is a quarter of a millisecond later than the last one.
    let nowMs = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 0.25))
    const turns = new Turns()
    const ofOthers: number[] = []
    let read = false
    const reading = Promise.resolve(requestOf(long, json, sender(turns))).then((bytes) => {
      read = true
      return bytes
    })
    while (!read) {
      const parsed = parse.mock.calls.length
      await turns.run({}, () => ofOthers.push(parsed))
      await setImmediate()
    }
    const bytes = await reading
    clock.mockRestore()
    const texts = parse.mock.calls.map(([text]) => text.length)
    parse.mockRestore()
    expect(Math.max(...texts)).toBeLessThan(4_000)
    expect(ofOthers.length).toBeGreaterThan(100)
    expect(bytes).toEqual(await inSteps(json, long))
  })

  test('ends with its call', async () => {
    const parse = vi.spyOn(JSON, 'parse')
    let slices = 0
    const over = requestOf(
      batchOf(1_000),
      json,
      sender(exhausted(), () => ++slices > 0),
    )
    await expect(over).rejects.toThrow('the call has ended')
    expect(parse.mock.calls.length).toBeLessThan(1_000)
    parse.mockRestore()
  })

  test('is refused by its size where it has no long list', () => {
    expect(json.bytesMax).toBe(Number.POSITIVE_INFINITY)
    for (const method of ['Check', 'CheckStream', 'Issue', 'Revoke', 'Plan', 'GetMatrix', 'WatchMatrix'])
      expect(codecOf(method)).toMatchObject({ bytesMax: 131_072, readInSteps: undefined })
  })

  const members = [
    '{"api":"a"}',
    '{"api":"a,]}"}',
    '{"api":"\\\\"}',
    '{"api":"\\""}',
    '{"a":1}',
    '{}',
    ' {"token":{}} ',
  ]
  const pieces = ['{', '}', '[', ']', ',', '"', '\\', ' ', ':', 'null', '1', '"checks":', 'é', '\ud800']
  test('means what it means as a whole, also where anything is damaged', () => {
    const made = fc.record({
      of: fc.array(fc.constantFrom(...members), { maxLength: 4 }),
      at: fc.nat(),
      removed: fc.constantFrom(0, 0, 1, 2),
      put: fc.constantFrom('', ...pieces),
    })
    let accepted = 0
    fc.assert(
      fc.property(made, ({ of, at, removed, put }) => {
        const text = `{ "checks" : [${of.join(',')}] }`
        const cut = at % (text.length + 1)
        const body = Buffer.from(text.slice(0, cut) + put + text.slice(cut + removed))
        const stepped = outcomeOf(() => inSteps(json, body))
        // No JSON at all for the list, and its name with an escape, are left out of it.
        if (stepped !== undefined) accepted++
        if (stepped !== undefined || !/null|\\/.test(put))
          expect(stepped).toEqual(outcomeOf(() => json.read(body)))
      }),
      { numRuns: 3_000 },
    )
    expect(accepted).toBeGreaterThan(100)
  })

  test.each([
    ['100,000 values in all', `{"checks":[${'{},'.repeat(50_001)}{}]}`, 'at most 100000 values'],
    [
      '131,072 bytes in a member',
      `{"checks":[{"api":"${'a'.repeat(131_072)}"}]}`,
      'at most 131072 bytes in a message',
    ],
    ['131,072 blanks', `{"checks":[${' '.repeat(131_073)}]}`, 'at most 131072 bytes in a message'],
    [
      '5,000 values in a member',
      `{"checks":[{"api":[${'0,'.repeat(5_001)}0]}]}`,
      'at most 5000 values in a message',
    ],
    ['256 blanks behind the list', `{"checks":[]${' '.repeat(300)}}`, 'a JSON object with the fields of'],
  ])('has at most %s', (_what, body, message) => {
    expect(() => inSteps(json, Buffer.from(body))).toThrow(message)
  })
})

/** The bytes that are read in steps. */
function inSteps({ readInSteps }: JsonCodec, body: Buffer): Buffer {
  const steps = readInSteps?.(body)
  for (;;) {
    const step = steps?.next()
    if (step?.done === true) return step.value
  }
}

function outcomeOf(read: () => Buffer): string | undefined {
  try {
    return read().toString('hex')
  } catch (error) {
    if (error instanceof CallError) return undefined
    throw error
  }
}

test('a connection begins one request in a turn of the event loop', async () => {
  const bounds = new Bounds(new Reports(() => {}))
  const begun: string[] = []
  const begin = (name: string, { raw }: HttpRequest) => bounds.begin(raw, () => begun.push(name))
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
