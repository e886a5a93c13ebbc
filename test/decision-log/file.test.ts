/**
 * The file is replaced when it is large or old, and a bounded number of files is kept. Other programs cause
 * no loss.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LogFile } from '../../sidecar/signals/decision-log/file.ts'
import { newFolder } from '../support/suite/resources.ts'

async function openFile(options: { readonly keep?: number; readonly bytesMax?: number } = {}) {
  const folder = newFolder()
  const path = join(folder, 'decisions.log')
  const clock = { ms: Date.now(), lookMs: 0 }
  const open = async () => {
    const file = new LogFile({
      ...{ path, bytesMax: options.bytesMax ?? 100, ageMsMax: 3_600_000, keep: options.keep ?? 2 },
      now: () => clock.ms,
      monotonicMs: () => clock.lookMs,
    })
    await file.open()
    return file
  }
  const write = async (file: LogFile, text: string) => {
    clock.ms += 10
    clock.lookMs += 2_000
    return file.write([Buffer.from(text)])
  }
  const replaced = () =>
    readdirSync(folder)
      .filter((name) => name !== 'decisions.log')
      .toSorted()
  const text = (name = 'decisions.log') => readFileSync(join(folder, name), 'utf8')
  return { folder, path, clock, open, write, replaced, text }
}

const LINE = `${'x'.repeat(39)}\n`

test('a file that would be too large is replaced, and the oldest is deleted', async () => {
  const { open, write, replaced, text, path } = await openFile()
  const file = await open()
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']) await write(file, LINE.replace('x', name))
  await file.close()
  expect([...replaced().map(text), text()].map((each) => each.replaceAll(/x|\n/g, ''))).toEqual([
    'ef',
    'gh',
    'i',
  ])
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('several blocks are one write, in order', async () => {
  const { open, text } = await openFile({ bytesMax: 1_000_000 })
  const file = await open()
  expect(await file.write([Buffer.from('one\n'), Buffer.from('two\n')])).toBe(8)
  expect(text()).toBe('one\ntwo\n')
  await file.close()
})

test.each<[what: string, before: string, after: string]>([
  ['a torn line', 'one\ntw', 'one\ntw\nthree\n'],
  ['a whole line', 'one\n', 'one\nthree\n'],
  ['nothing', '', 'three\n'],
])('a line behind %s is a separate line', async (_what, before, after) => {
  const { open, path, text } = await openFile()
  writeFileSync(path, before)
  const file = await open()
  await file.write([Buffer.from('three\n')])
  await file.close()
  expect(text()).toBe(after)
})

test('a file that is too old is replaced with the next line, and an empty one is not', async () => {
  const { open, write, replaced, clock } = await openFile({ bytesMax: 1_000_000 })
  const file = await open()
  clock.ms += 4_000_000
  await write(file, LINE)
  expect(replaced()).toHaveLength(0)
  await write(file, LINE)
  expect(replaced()).toHaveLength(1)
  await file.close()
})

test('two processes write the same file: each finds the one that the other has begun', async () => {
  const { open, write, replaced, text } = await openFile({ keep: 10 })
  const [one, other] = [await open(), await open()]
  for (let index = 0; index < 10; index++) await write(index % 2 === 0 ? one : other, LINE)
  const whole = [...replaced(), 'decisions.log'].map(text)
  expect(whole.join('')).toBe(LINE.repeat(10))
  expect(whole.every((each) => each.length <= 100)).toBe(true)
  await one.close()
  await other.close()
})

test('a file that was renamed or deleted is created again', async () => {
  const { open, write, text, path, folder } = await openFile()
  const file = await open()
  await write(file, 'before\n')
  renameSync(path, join(folder, 'moved'))
  await write(file, 'after\n')
  expect([text('moved'), text()]).toEqual(['before\n', 'after\n'])
  await file.close()
})

test('files of others beside it are never deleted', async () => {
  const { open, write, folder } = await openFile({ keep: 0 })
  const names = [
    'decisions.log.1',
    'decisions.log.gz',
    'decisions.log.20261122T094434123Z',
    'other.20261122T094434123Z-1',
  ]
  for (const name of names) mkdirSync(join(folder, name))
  const file = await open()
  for (let index = 0; index < 10; index++) await write(file, LINE)
  expect(readdirSync(folder).toSorted()).toEqual([...names, 'decisions.log'].toSorted())
  await file.close()
})

test.each<[what: string, make: (path: string) => void, code: string]>([
  ['a folder', (path) => mkdirSync(path), 'EISDIR'],
  ['a link to somewhere else', (path) => symlinkSync('/dev/null', path), 'ELOOP'],
])('%s in its place is an error at the start', async (_what, make, code) => {
  const { open, path } = await openFile()
  make(path)
  await expect(open()).rejects.toThrow(`decision_log.file.path: ${path} cannot be written (${code})`)
})

test('an old file goes on, and its age counts from when it was made', async () => {
  const { open, write, replaced, path } = await openFile({ bytesMax: 1_000_000 })
  const first = await open()
  await write(first, LINE)
  await first.close()
  utimesSync(path, 0, 0)
  const second = await open()
  await write(second, LINE)
  expect(replaced()).toEqual([])
  expect(existsSync(path)).toBe(true)
  await second.close()
})
