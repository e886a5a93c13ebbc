/**
 * Watched files: read when they change, reported once if they are unusable, and read again after a transient
 * error.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { WatchedFile } from '../../sidecar/base/watched-file.ts'
import { newFile } from '../support/suite/resources.ts'

/** A watched file with the values and errors so far. `fault` is the error of the next reading. */
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

test('a changed file is read once, and an unchanged file is not read again', () => {
  const { file, seen, write } = watched()
  file.reload()
  write('second one')
  for (let times = 0; times < 3; times++) file.reload()
  expect(file.initial).toBe('first')
  expect(seen).toEqual(['second one'])
})

test('an unusable file is reported once', () => {
  const { file, seen, next, write } = watched()
  write('second one')
  next.fault = new SyntaxError('no JSON')
  for (let times = 0; times < 3; times++) file.reload()
  expect(seen).toEqual(['refused: no JSON'])
})

test.each(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EBUSY', 'EIO'])(
  'a file that could not be read because of %s is read again later',
  (code) => {
    const { file, seen, next, write } = watched()
    write('second one')
    next.fault = Object.assign(new Error(code), { code })
    for (let times = 0; times < 3; times++) file.reload()
    expect(seen).toEqual([`refused: ${code}`, 'second one'])
  },
)

test('a deleted file is reported once, and read when it exists again', () => {
  const { path, file, seen, next, write } = watched()
  rmSync(path)
  next.fault = Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
  for (let times = 0; times < 3; times++) file.reload()
  write('second one')
  file.reload()
  expect(seen).toEqual(['refused: ENOENT', 'second one'])
})
