/**
 * Watches: how many a connection, a client and all clients may have. A change reaches them without holding up
 * others.
 */

import { expect, test } from 'vitest'
import { callError } from '../../sidecar/base/call-error.ts'
import type { IpAddress } from '../../sidecar/base/ip-address.ts'
import type { CallContext } from '../../sidecar/contract/call.ts'
import { Topic, Watches } from '../../sidecar/contract/watches.ts'
import { BlackBox, refusalOf } from '../support/contract/black-box.ts'
import { Reader } from '../support/contract/reader.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, working } from '../support/suite/resources.ts'

/** A connection that presents this caller token. */
function connectionOf(address: IpAddress = '127.0.0.1', token = ''): CallContext {
  return {
    connection: { address, certificateNames: [] },
    metadata: (name) => (name === 'authorization' && token !== '' ? [token] : []),
  }
}

function newTopic() {
  const callers = {
    findOrNobody: ({ authorization }: { authorization: readonly string[] }) =>
      authorization.length === 0 ? undefined : { name: authorization[0] },
  }
  let value = 'first'
  const topic = new Topic(new Watches(callers as never, true), () => Buffer.from(value))
  return {
    topic,
    change: (changed: string) => {
      value = changed
      topic.changed()
    },
    /** This many watches on one connection. Returns the messages of those that were refused. */
    open: (count: number, context: CallContext) => {
      const readers = Array.from({ length: count }, () => new Reader(String))
      const refused = readers.flatMap((reader) => {
        try {
          topic.open(context, reader)
          return []
        } catch (error) {
          return [(error as Error).message]
        }
      })
      return { readers, refused }
    },
  }
}

const refusal = (whose: string) => `too many watches of ${whose}; try again later`

test('a connection has at most 100 watches', () => {
  const { open } = newTopic()
  const context = connectionOf()
  const { readers, refused } = open(101, context)
  expect(refused).toEqual([refusal('this connection')])
  readers[0]?.end()
  expect(open(1, context).refused).toEqual([])
})

test('where a client has 1,000, the connection with the most loses its newest, and one with few gets in', () => {
  const { open } = newTopic()
  const crowd = Array.from({ length: 10 }, () => open(100, connectionOf()))
  const own = connectionOf()
  expect(open(50, own).refused).toEqual([])
  const lost = crowd.flatMap(({ readers }) => readers.filter(({ failure }) => failure !== undefined))
  expect(lost).toHaveLength(50)
  expect(String(lost[0]?.failure)).toBe(`CallError: ${refusal('this connection')}`)
  // All have the same number now, so none loses one to another.
  expect(open(100, own).refused).toContain(refusal('this client'))
})

test('other addresses, networks and callers have their own shares, within those of all', () => {
  const { open } = newTopic()
  const fill = (address: IpAddress, token?: string) =>
    Array.from({ length: 10 }, () => open(100, connectionOf(address, token)))
  fill('127.0.0.1')
  expect(open(1, connectionOf('127.0.0.2')).refused).toEqual([])
  expect(open(1, connectionOf('127.0.0.1', 'job')).refused).toEqual([])
  fill('2001:db8::1')
  expect(open(1, connectionOf('2001:db8::2')).refused).toEqual([])
  expect(open(1, connectionOf('2001:db8:0:1::1')).refused).toEqual([])
})

test('watches end where it cannot be said how it is now, and others may begin', () => {
  const { topic, open } = newTopic()
  const { readers } = open(100, connectionOf())
  const error = callError('MATRIX_TOO_LARGE', { bytes: '2', most: '1' })
  topic.fail(error)
  expect(readers.map(({ failure }) => failure)).toEqual(Array(100).fill(error))
  expect(open(100, connectionOf()).refused).toEqual([])
})

test('a client that does not read gets the newest when it reads again, and nothing between', async () => {
  const { open, change } = newTopic()
  const [slow, quick] = open(2, connectionOf()).readers
  if (slow === undefined || quick === undefined) throw new Error('expected two')
  slow.unread = true
  change('second')
  change('third')
  expect(quick.got).toEqual(['first', 'second', 'third'])
  expect(slow.got).toEqual(['first'])
  slow.unread = false
  await eventually(() => slow.got.length === 2)
  expect(slow.got).toEqual(['first', 'third'])
})

test('a change reaches watches in slices', async () => {
  const { topic, change } = newTopic()
  const slowly = () => {
    working(1)
  }
  const readers = Array.from({ length: 20 }, () => new Reader(String, slowly))
  for (const reader of readers) topic.open(connectionOf(), reader)
  change('second')
  const told = () => readers.filter(({ got }) => got.length === 2).length
  expect(told()).toBeLessThan(10)
  await eventually(() => told() === 20)
})

test('over the wire, of the matrix and of health alike', async () => {
  const { address } = await runSidecar()
  const client = new BlackBox(address)
  const errors: unknown[] = []
  let heard = 0
  for (let watch = 0; watch < 101; watch++)
    client
      .follow('watchMatrix')
      .on('data', () => heard++)
      .on('error', (error) => errors.push(error))
  await eventually(() => heard === 100 && errors.length === 1)
  expect(refusalOf(errors[0])).toMatchObject({
    code: 'RESOURCE_EXHAUSTED',
    reason: 'WATCHES_EXHAUSTED',
    message: refusal('this connection'),
  })
  client.close()
})
