/**
 * `npm run sizing`: how large a directory is on the disk, how long a sidecar takes to start with it, and what
 * memory it takes, by the number of users, of revocations and of tokens in use. docs/operate/deployment.md
 * has the figures of a run.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DIRECTORY_FILE } from '../sidecar/base/data-folder.ts'
import { openDirectory } from '../sidecar/directory/open-directory.ts'
import { contend } from './harness/contender.ts'
import { temporaryFolder } from './harness/temporary.ts'
import { columns, cpuModel } from './report/text.ts'
import { installPackage } from './servers/package.ts'
import { startSidecar, startSidecarOn } from './servers/start.ts'
import { newDataFolder, SignedTokens } from './workloads/tokens.ts'

/**
 * The sizes to measure: users with a permission, and as many revoked tokens; then this number of tokens are
 * checked.
 */
export interface Size {
  readonly users: number
  readonly tokens: number
}

export interface Sized {
  readonly fileBytes: number
  readonly readyMs: number
  readonly idleBytes: number
  /** After the checks: the memory of the process, and that after V8 has given unused pages back. */
  readonly usedBytes: number
  readonly neededBytes: number
}

const SIZES: readonly Size[] = [
  { users: 0, tokens: 1_000 },
  { users: 10_000, tokens: 10_000 },
  { users: 100_000, tokens: 50_000 },
  { users: 100_000, tokens: 200_000 },
]

/** Users in one change. */
const AT_ONCE = 1_000

/**
 * @param launcher of the installed package; absent: of this checkout, which takes more memory, because it
 *   compiles the sources
 */
export async function measureSize({ users, tokens }: Size, launcher?: string): Promise<Sized> {
  await using stack = new AsyncDisposableStack()
  const folder = newDataFolder(stack)
  const first = await startSidecar({ flags: ['--data', folder] })
  const { load } = await contend(first, first.ready.grpc, stack)
  const signed = await SignedTokens.of(folder, first.ready, load)
  stack.defer(() => signed.close())
  await first.stop()
  await fill(join(folder, DIRECTORY_FILE), users)

  const startedMs = performance.now()
  const server = await startSidecarOn(folder, { ...(launcher && { launcher }) })
  const readyMs = performance.now() - startedMs
  const idleBytes = await server.residentBytes()
  const measured = await contend(server, server.ready.grpc, stack)
  await signed.checkUnseen(measured.load, tokens)
  return {
    fileBytes: statSync(join(folder, DIRECTORY_FILE)).size,
    readyMs,
    idleBytes,
    usedBytes: await server.residentBytes(),
    neededBytes: await server.trimmedResidentBytes(),
  }
}

/** Makes the users, each with a permission and a revoked token, as administration does. */
async function fill(file: string, users: number): Promise<void> {
  const store = await openDirectory(file, undefined, Date.now)
  const account = 'sizing'
  await store.change('sizing', (change) => change.createAccount(account))
  for (let made = 0; made < users; made += AT_ONCE)
    await store.change('sizing', async (change) => {
      const record = await change.records.account(account)
      if (record === undefined) throw new Error('expected the account that was created')
      for (let index = made; index < Math.min(made + AT_ONCE, users); index++) {
        const name = `worker-${index}`
        const id = await change.createUser(record, {
          name,
          type: 'service_user',
          passwordHash: PASSWORD_HASH,
        })
        await change.setPermissions({ id, account, name }, [{ scope: 'account' }])
        await change.revoke(`token-of-${id}`, account)
      }
    })
  await store.close()
}

/** As long as a genuine one. */
const PASSWORD_HASH = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`

async function main(): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const launcher = await installPackage(temporaryFolder(stack))
  const rows = [
    ['users', 'revocations', 'tokens checked', 'file', 'ready', 'memory at first', 'memory then', 'needed'],
  ]
  for (const size of SIZES) {
    const { fileBytes, readyMs, idleBytes, usedBytes, neededBytes } = await measureSize(size, launcher)
    const { users, tokens } = size
    const counts = [users, users, tokens].map((count) => count.toLocaleString('en'))
    rows.push([
      ...counts,
      megabytes(fileBytes),
      `${Math.round(readyMs)} ms`,
      megabytes(idleBytes),
      megabytes(usedBytes),
      megabytes(neededBytes),
    ])
  }
  process.stdout.write(`${columns(rows)}\nNode ${process.versions.node} on ${cpuModel()}\n`)
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`
}

if (import.meta.main) await main()
