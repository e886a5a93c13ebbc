/** A host's knowledge of its directory: no restart and no other process of the host forgets it. */
import { appendFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { KNOWN_CHANGE, KnownPosition, knownIn } from '../../../sidecar/directory/feed/known-position.ts'
import { madeIn } from '../../../sidecar/directory/feed/made-changes.ts'
import { newFolder } from '../../support/suite/resources.ts'

const at = (sequence: number) => ({ sequence, atMs: 1_000_000 + sequence })

function open(folder: string) {
  const told: unknown[] = []
  const known = new KnownPosition({
    folder: join(folder, KNOWN_CHANGE),
    onUnwritten: (error) => told.push((error as NodeJS.ErrnoException | undefined)?.code),
  })
  onTestFinished(() => known.close())
  return { known, told }
}

/** The notes of several processes of a host in turn, and the position that a later process finds. */
const HISTORIES: readonly [what: string, noted: readonly (readonly [process: number, number])[], number][] = [
  ['nothing is noted', [], 0],
  ['one notes a change', [[0, 7]], 7],
  [
    'one notes a change after the other',
    [
      [0, 7],
      [0, 8],
      [0, 12],
    ],
    12,
  ],
  [
    'one notes a change that is lower',
    [
      [0, 7],
      [0, 3],
    ],
    7,
  ],
  [
    'one that is behind notes later',
    [
      [0, 9],
      [1, 8],
    ],
    9,
  ],
  [
    'both note the same',
    [
      [0, 9],
      [1, 9],
      [0, 10],
      [1, 10],
    ],
    10,
  ],
  [
    'each is ahead of the other in turn',
    [
      [0, 1],
      [1, 3],
      [0, 2],
      [0, 5],
      [1, 4],
    ],
    5,
  ],
]

describe('a position that a host has noted is there after a start', () => {
  test.each(HISTORIES)('%s', (_what, noted, last) => {
    const folder = newFolder()
    const processes = [open(folder), open(folder)]
    for (const [index, sequence] of noted) processes[index]?.known.note(at(sequence))
    expect(open(folder).known.last.sequence).toBe(last)
    expect(knownIn(folder)).toEqual(last === 0 ? undefined : at(last))
    expect(processes.flatMap(({ told }) => told)).toEqual([])
  })

  test('a start removes lower positions, and other processes go on', () => {
    const folder = newFolder()
    const [one, other] = [open(folder), open(folder)]
    one.known.note(at(1))
    other.known.note(at(2))
    open(folder)
    expect(readdirSync(join(folder, KNOWN_CHANGE))).toEqual(['2-1000002'])
    one.known.note(at(3))
    expect(knownIn(folder)).toEqual(at(3))
    expect(one.told).toEqual([])
  })

  test('a file with another name is ignored', () => {
    const folder = newFolder()
    open(folder).known.note(at(4))
    for (const name of ['9', '9-', '-9', '9-9.tmp', `${'9'.repeat(30)}-9`, 'x9-9'])
      writeFileSync(join(folder, KNOWN_CHANGE, name), '')
    expect(open(folder).known.last).toEqual(at(4))
  })
})

describe('a folder that cannot be written', () => {
  test('from the start keeps nothing, reports it once, and delays no change', async () => {
    const { known, told } = open('/sys/nobody-can-make-this')
    known.note(at(1))
    await known.durable()
    expect(known.last).toEqual(at(1))
    expect(told).toHaveLength(1)
  })

  test('later lets no change be acknowledged until it can be written again', async () => {
    const folder = newFolder()
    const { known, told } = open(folder)
    rmSync(join(folder, KNOWN_CHANGE), { recursive: true })
    known.note(at(1))
    await expect(Promise.resolve(known.durable())).rejects.toMatchObject({ reason: 'DIRECTORY_UNAVAILABLE' })
    expect(told).toEqual(['ENOENT'])
  })
})

describe('a change that a host has made', () => {
  const made = (sequence: number, atMs: number) => ({
    ...{ sequence, atMs, actor: 'a test', action: 'token.revoke', account: '1', subject: 't' },
    ...{ subjectId: 't', details: {} },
  })
  const linesIn = (folder: string) => Array.fromAsync(madeIn(join(folder, KNOWN_CHANGE)))
  const numbersIn = async (folder: string) => (await linesIn(folder)).map(({ sequence }) => sequence)
  const DAY_MS = 86_400_000

  test('is there with its position before it is acknowledged, whichever process made it', async () => {
    const folder = newFolder()
    const [one, other] = [open(folder), open(folder)]
    one.known.made([made(1, 5), made(2, 5)])
    other.known.made([made(3, 6)])
    one.known.made([made(4, 7)])
    await Promise.all([one.known.durable(), other.known.durable()])
    expect(await linesIn(folder)).toMatchObject([
      { sequence: 1, at: '1970-01-01T00:00:00.005Z', action: 'token.revoke', subject_id: 't' },
      ...[{ sequence: 2 }, { sequence: 3 }, { sequence: 4 }],
    ])
  })

  test('is whole after a line that is not', async () => {
    const folder = newFolder()
    open(folder).known.made([made(1, 5)])
    appendFileSync(join(folder, KNOWN_CHANGE, 'made-1970-01-01.jsonl'), '{"sequence":2,"at')
    open(folder).known.made([made(3, 6)])
    expect(await numbersIn(folder)).toEqual([1, 3])
  })

  test('is kept for seven days', async () => {
    const folder = newFolder()
    const { known } = open(folder)
    for (let day = 0; day < 12; day++) {
      known.made([made(day, day * DAY_MS)])
      await known.durable()
    }
    expect(await numbersIn(folder)).toEqual([4, 5, 6, 7, 8, 9, 10, 11])
  })

  test('is not acknowledged where it cannot be written', () => {
    const folder = newFolder()
    const { known } = open(folder)
    rmSync(join(folder, KNOWN_CHANGE), { recursive: true })
    expect(() => known.made([made(1, 5)])).toThrow('the directory does not answer')
  })
})

test('a folder that cannot be read does not count as empty', () => {
  const folder = newFolder()
  writeFileSync(join(folder, KNOWN_CHANGE), '')
  expect(() => knownIn(folder)).toThrow(`${join(folder, KNOWN_CHANGE)} cannot be read (ENOTDIR)`)
})
