/** A day of operation by a fast clock, at its smallest size. In earnest: `npm run day`. */
import { expect, test } from 'vitest'
import { obtainFaketime } from '../day/clock.ts'
import { live } from '../day/day.ts'
import { run } from '../support/interop/command.ts'
import { obtained } from '../support/interop/obtain.ts'

const openssl = await obtained('openssl', () => run('openssl', ['version']))
const faketime = await obtained('libfaketime', obtainFaketime)

test.runIf(faketime.ok && openssl.ok)(
  'a day breaks no promise, and takes no more at its end',
  {
    timeout: 0,
  },
  async () => {
    const { allowed, denied, acknowledged, logins, expired } = await live(faketime.ok ? faketime.value : '', {
      forMs: 45_000,
      seed: 1,
    })
    for (const count of [allowed, denied, acknowledged]) expect(count).toBeGreaterThan(50)
    expect(logins).toBeGreaterThan(0)
    expect(expired).toBeGreaterThan(0)
  },
)
