/** A process that changes a directory in PostgreSQL, as a host that shares it does, and how to start one. */
import { fileURLToPath } from 'node:url'
import { randomText } from '../../sidecar/base/random-text.ts'
import type { DirectoryStore } from '../../sidecar/directory/store.ts'
import { openLocation } from '../../test/support/directory/writer.ts'
import { startProcess } from '../../test/support/processes/processes.ts'

/** Times are milliseconds since the epoch. */
export interface HostWork {
  readonly url: string
  /** `revoke`: tokens, two at a time. `import`: this number of users in each change. */
  readonly work: 'revoke' | 'import'
  readonly users: number
  /** Earlier changes warm the process up, and do not count. */
  readonly fromMs: number
  readonly untilMs: number
}

/** Resolves at the end with how long each change took that counts, in milliseconds. */
export async function startSharingHost(work: HostWork): Promise<readonly number[]> {
  const child = startProcess([process.execPath, fileURLToPath(import.meta.url), JSON.stringify(work)])
  const lines: string[] = []
  child.onLine((line) => lines.push(line))
  const { code, stderr } = await child.ended
  if (code !== 0) throw new Error(`a host ended with ${code}: ${stderr}`)
  return JSON.parse(lines[0] ?? '[]') as number[]
}

async function change({ url, work, users, fromMs, untilMs }: HostWork): Promise<void> {
  const store = await openLocation({ type: 'postgres', url })
  const tookMs: number[] = []
  const changeOn = async () => {
    while (Date.now() < untilMs) {
      const [begun, beganMs] = [Date.now(), performance.now()]
      if (work === 'import') await importUsers(store, users)
      else await store.change('a benchmark', (made) => made.revoke(randomText(16), 'of another'))
      if (begun >= fromMs) tookMs.push(performance.now() - beganMs)
    }
  }
  await Promise.all(work === 'import' ? [changeOn()] : [changeOn(), changeOn()])
  console.log(JSON.stringify(tookMs))
  await store.close()
}

/** One after the other, as an earlier version did it for a directory file. */
async function importUsers(store: DirectoryStore, users: number): Promise<void> {
  const name = randomText(16)
  await store.change('a benchmark', async (made) => {
    await made.createAccount(name)
    const account = await made.records.account(name)
    if (account === undefined) throw new Error('an account is not there after it was made')
    for (let user = 0; user < users; user++)
      await made.createUser(account, { name: `user-${user}`, type: 'control_panel_user' })
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await change(JSON.parse(process.argv[2] ?? '') as HostWork)
