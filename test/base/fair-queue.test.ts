/** Turns are shared: by lane, and in a lane by share. A full lane refuses the share with most waiting. */
import { beforeEach, describe, expect, test } from 'vitest'
import { FairQueue } from '../../sidecar/base/fair-queue.ts'

type Lane = 'first' | 'second'

let started: string[]
let refused: string[]
let running: { readonly name: string; readonly finish: () => void }[]
beforeEach(() => {
  started = []
  refused = []
  running = []
})

function newQueue({ concurrent = 1, waiting = 100, weights = { first: 1, second: 1 } } = {}) {
  const queue = new FairQueue<Lane>({ weights, concurrent, waiting, full: () => new Error('full') })
  /** Work of this name arrives: `first source/user 1`. */
  const arrive = (...names: string[]) => {
    for (const name of names) {
      const [lane = '', shares = ''] = name.split(' ')
      const work = () =>
        new Promise<void>((finish) => {
          started.push(name)
          running.push({ name, finish })
        })
      queue.run({ lane: lane as Lane, shares: shares.split('/') }, work).catch(() => refused.push(name))
    }
  }
  return { queue, arrive }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** Ends all work, one after the other, and returns the order in which it started. */
async function order(): Promise<string[]> {
  for (;;) {
    await settled()
    const [next] = running.splice(0, 1)
    if (next === undefined) return started
    next.finish()
  }
}

test('work of one share runs in the order of its arrival', async () => {
  const { arrive } = newQueue()
  arrive('first a', 'first a', 'first a')
  expect(await order()).toEqual(['first a', 'first a', 'first a'])
})

test.each<[claim: string, arriving: string[], order: string[]]>([
  [
    'shares take turns, however much of one waits',
    ['first a', 'first a', 'first a', 'first a', 'first b'],
    ['first a', 'first a', 'first b', 'first a', 'first a'],
  ],
  [
    'so do narrower ones within a share',
    ['first a/x', 'first a/x', 'first a/x', 'first a/y', 'first b/z', 'first b/z'],
    ['first a/x', 'first a/x', 'first b/z', 'first a/y', 'first b/z', 'first a/x'],
  ],
  [
    'many narrower shares have no more turns together than one',
    ['first a/1', 'first a/2', 'first a/3', 'first a/4', 'first b/5'],
    ['first a/1', 'first a/2', 'first b/5', 'first a/3', 'first a/4'],
  ],
  [
    'lanes take turns',
    ['first a', 'first a', 'first a', 'first a', 'second a'],
    ['first a', 'first a', 'second a', 'first a', 'first a'],
  ],
])('%s', async (_claim, arriving, expected) => {
  const { arrive } = newQueue()
  arrive(...arriving)
  expect(await order()).toEqual(expected)
})

test('a lane with more weight has more turns, and the other one has some', async () => {
  const { arrive } = newQueue({ weights: { first: 3, second: 1 } })
  arrive('second a', ...Array(8).fill('first a'), ...Array(3).fill('second a'))
  const turns = (await order()).slice(1, 9)
  expect(turns.filter((name) => name === 'first a')).toHaveLength(6)
})

test('as much runs at the same time as may, and work that fails makes room like any other', async () => {
  const { arrive, queue } = newQueue({ concurrent: 2 })
  const failing = queue.run({ lane: 'first', shares: [] }, () => Promise.reject(new Error('failed')))
  arrive('first a', 'first b', 'first c')
  await expect(failing).rejects.toThrow('failed')
  await settled()
  expect(started).toEqual(['first a', 'first b'])
  expect(await order()).toEqual(['first a', 'first b', 'first c'])
})

describe('in a full lane', () => {
  test.each<[claim: string, arriving: string[], refused: string[]]>([
    ['the newest is refused', ['first a/1', 'first a/2', 'first a/3'], ['first a/3']],
    ['of the longest share', ['first a/1', 'first a/2', 'first b/3'], ['first a/2']],
    ['of the longest narrower share', ['first a/1', 'first a/1', 'first a/2'], ['first a/1']],
    ['no other lane counts', ['first a/1', 'first a/2', 'second a/3', 'second a/4'], []],
  ])('%s', async (_claim, arriving, expected) => {
    const { arrive } = newQueue({ waiting: 2 })
    arrive('first running', ...arriving)
    await settled()
    expect(refused).toEqual(expected)
  })

  test('a source with few waiting calls is never refused for those with many', async () => {
    const { arrive } = newQueue({ waiting: 50 })
    arrive('first running')
    for (let round = 0; round < 20; round++) {
      arrive(...Array(100).fill('first flood/x'))
      arrive(`first quiet/${round}`)
    }
    await settled()
    expect(refused.filter((name) => name.startsWith('first quiet'))).toEqual([])
    expect(new Set(await order()).size).toBe(22)
  })
})
