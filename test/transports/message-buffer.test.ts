/**
 * Parts of messages: an unfinished one gives its memory back at once, and one that was taken keeps its bytes.
 */
import { expect, test } from 'vitest'
import { MessageBuffer } from '../../sidecar/transports/framed-messages.ts'
import { messageFrame } from '../support/http2/frames.ts'

const BYTES = 4_194_304
const PART_BYTES = 65_536
const held = () => process.memoryUsage().arrayBuffers

function push(buffer: MessageBuffer, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; at += PART_BYTES)
    buffer.push(bytes, at, Math.min(bytes.length, at + PART_BYTES))
}

test('a message that is given up holds no memory, and neither does what it has outgrown', () => {
  const unfinished = messageFrame(Buffer.alloc(BYTES)).subarray(0, -1)
  const before = held()
  for (let call = 0; call < 20; call++) {
    const buffer = new MessageBuffer(BYTES, false)
    push(buffer, unfinished)
    expect(held() - before).toBeLessThan(2 * BYTES)
    buffer.drop()
    expect(held() - before).toBeLessThan(BYTES)
    expect(buffer.length).toBe(0)
  }
})

test('a message that was taken keeps its bytes, whatever becomes of those behind it', () => {
  const first = Buffer.alloc(200_000, 'first')
  const second = Buffer.alloc(BYTES, 'second')
  const buffer = new MessageBuffer(BYTES, false)
  push(buffer, Buffer.concat([messageFrame(first), messageFrame(second).subarray(0, 100_000)]))
  const taken = buffer.next() as Buffer
  push(buffer, messageFrame(second).subarray(100_000))
  const other = buffer.next() as Buffer
  buffer.drop()
  expect(taken.equals(first)).toBe(true)
  expect(other.equals(second)).toBe(true)
})

test.each([
  [3, 50],
  [1_000, 1],
  [70_000, 1],
  [400_000, 1],
])('in parts of %d bytes, messages of every size arrive as they were sent', (part, shrunk) => {
  const all = [10, 300_000, 0, 70_000, 1_500_000, 5_000, 262_139, 300_000, 100]
  const sizes = all.map((size) => Math.ceil(size / shrunk))
  const messages = sizes.map((size, index) => Buffer.alloc(size, `message ${index}`))
  const bytes = Buffer.concat(messages.map((message) => messageFrame(message)))
  for (const atOnce of [true, false]) {
    const buffer = new MessageBuffer(BYTES, false)
    const taken: Buffer[] = []
    for (let at = 0; at < bytes.length; at += part) {
      // The pushed bytes are overwritten by the next read.
      const read = Buffer.from(bytes.subarray(at, at + part))
      buffer.push(read, 0, read.length)
      read.fill(255)
      if (atOnce) takeAll(buffer, taken)
    }
    takeAll(buffer, taken)
    expect(buffer.length).toBe(0)
    expect(taken.map((message) => message.length)).toEqual(sizes)
    expect(taken.every((message, index) => message.equals(messages[index] as Buffer))).toBe(true)
  }
})

function takeAll(buffer: MessageBuffer, taken: Buffer[]): void {
  for (let message = buffer.next(); message !== undefined; message = buffer.next())
    taken.push(message as Buffer)
}
