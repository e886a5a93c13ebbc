/** Files that are followed: read when they change, refused once, and read after all when it was no fault of theirs. */
import { rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { WatchedFile } from '../../sidecar/base/watched-file.ts'
import { newFile } from '../support/sidecar.ts'

/** A file, and what was read of it and refused so far; `fault` is what the next reading meets. */
function watched() {
  const path = newFile('first')
  const seen: string[] = []
  const next: { fault?: Error } = {}
  let content = 'first'
  const file = new WatchedFile({
    path,
    pollMs: 0,
    read: () => {
      const { fault } = next
      delete next.fault
      if (fault !== undefined) throw fault
      return content
    },
    onChanged: (value) => seen.push(value),
    onRefused: (error) => seen.push(`refused: ${error.message}`),
  })
  const write = (text: string) => {
    content = text
    writeFileSync(path, text)
  }
  return { path, file, seen, next, write }
}

test('another file is read once, and the same one never again', () => {
  const { file, seen, write } = watched()
  file.reload()
  write('second one')
  for (let times = 0; times < 3; times++) file.reload()
  expect(file.initial).toBe('first')
  expect(seen).toEqual(['second one'])
})

test('one that cannot be used is refused once', () => {
  const { file, seen, next, write } = watched()
  write('second one')
  next.fault = new SyntaxError('no JSON')
  for (let times = 0; times < 3; times++) file.reload()
  expect(seen).toEqual(['refused: no JSON'])
})

test.each(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EBUSY', 'EIO'])(
  'one that could not be read for %s is read when that has passed',
  (code) => {
    const { file, seen, next, write } = watched()
    write('second one')
    next.fault = Object.assign(new Error(code), { code })
    for (let times = 0; times < 3; times++) file.reload()
    expect(seen).toEqual([`refused: ${code}`, 'second one'])
  },
)

test('one that is gone is refused once, and read when it is back', () => {
  const { path, file, seen, next, write } = watched()
  rmSync(path)
  next.fault = Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
  for (let times = 0; times < 3; times++) file.reload()
  write('second one')
  file.reload()
  expect(seen).toEqual(['refused: ENOENT', 'second one'])
})
