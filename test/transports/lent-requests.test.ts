/**
 * A request is only lent to its handler. A call that waits for its turn has what its client sent, and nothing
 * of another client.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runSidecar } from '../support/sidecar/sidecar.ts'

test('administrative calls are carried out as they were sent, whatever others send while they wait', async () => {
  const running = await runSidecar()
  const callerToken = readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()
  const { directory } = running.connect({ callerToken })
  const other = running.connect()
  let over = false
  const sendMuch = async () => {
    // As much as is read at a time.
    const credentials = [['x-flood', 'x'.repeat(60_000)]] as const
    while (!over) await other.check({ api: 'balance', credentials })
  }
  const sending = Promise.all(Array.from({ length: 8 }, sendMuch))
  try {
    for (let index = 0; index < 25; index++) {
      const account = `${100_000 + index}`
      expect((await directory.createAccount({ account })).account?.account).toBe(account)
    }
  } finally {
    over = true
    await sending
  }
})
