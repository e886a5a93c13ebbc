/** Random texts that people copy into commands. */
import { expect, test } from 'vitest'
import { randomText } from '../../sidecar/base/random-text.ts'
import { command } from '../support/processes/command-line.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'

test.each([16, 18, 32])('%d bytes are as many as before, and no option of a command', (bytes) => {
  const made = Array.from({ length: 2_000 }, () => randomText(bytes))
  expect(new Set(made.map((text) => Buffer.from(text, 'base64url').length))).toEqual(new Set([bytes]))
  expect(made.filter((text) => !/^[A-Za-z0-9_][A-Za-z0-9_-]*$/.test(text))).toEqual([])
  expect(new Set(made).size).toBe(made.length)
})

test('put an argument that begins with `-` after `--`, and the error says so where it is forgotten', async () => {
  const { folder, address } = await runSidecar()
  const end = (...id: string[]) =>
    command(['session', 'end', '--data', folder, '--address', address, '1', 'olga', ...id])
  expect((await end('-1knp5u5X6E')).stderr).toMatch(
    /^portcullis: unknown option '-1knp5u5X6E'; put an argument that begins with `-` after `--`\n/,
  )
  expect((await end('--', '-1knp5u5X6E')).stderr).toMatch(/^portcullis: NOT_FOUND: /)
})
