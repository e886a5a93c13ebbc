/**
 * A process that works on a directory, and how to start one. It reports its work on standard output, a line
 * each, and only when it holds.
 */
import { writeSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CallError } from '../../../sidecar/base/call-error.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { AlreadyExists } from '../../../sidecar/directory/database.ts'
import { openDirectory } from '../../../sidecar/directory/open-directory.ts'
import type { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { startProcess } from '../processes/processes.ts'

/** Where a directory is. */
export type Location =
  | { readonly type: 'sqlite'; readonly file: string }
  | { readonly type: 'postgres'; readonly url: string }

/** The work of the process. */
export type Job =
  /** Makes accounts of these names, which others want too. */
  | { readonly type: 'contend'; readonly names: readonly string[] }
  /** Adds projects, each named by how many there are. */
  | { readonly type: 'count'; readonly account: string; readonly projects: number }
  /** Makes accounts until it is killed. */
  | { readonly type: 'write'; readonly prefix: string }
  /** Makes accounts until there is no room. */
  | { readonly type: 'fill' }

export interface Writer {
  /** The lines so far. */
  readonly lines: readonly string[]
  /** Resolves when there are that many lines. */
  said(count: number): Promise<void>
  /** Kills it. Resolves when everything that it said was read. */
  kill(): Promise<void>
  /**
   * Resolves when it has ended and everything that it said was read.
   *
   * @throws Error where it failed of itself
   */
  ended: Promise<void>
}

export function openLocation(location: Location, now: () => number = Date.now): Promise<DirectoryStore> {
  return location.type === 'sqlite'
    ? openDirectory(location.file, undefined, now)
    : openDirectory(
        '',
        { url: new Secret(location.url), stalenessMs: 60_000, poolSize: 10, timeoutMs: 60_000 },
        now,
      )
}

/**
 * Starts a separate process.
 *
 * @param fileKibMax how large its files may grow, in KiB; what it writes beyond that fails
 */
export function startWriter(location: Location, job: Job, fileKibMax?: number): Writer {
  const command = [process.execPath, fileURLToPath(import.meta.url), JSON.stringify({ location, job })]
  const limit = fileKibMax === undefined ? '' : `ulimit -f ${fileKibMax}; `
  const child = startProcess(['bash', '--norc', '-c', `${limit}exec "$@"`, 'bash', ...command])
  const lines: string[] = []
  child.onLine((line) => lines.push(line))
  const ended = child.ended.then(({ code, stderr }) => {
    if (code !== 0 && code !== 'SIGKILL') throw new Error(`the process ended with ${code}: ${stderr}`)
  })
  // It may fail before a test waits for its end.
  ended.catch(() => {})
  return {
    lines,
    said: async (count) => void (await child.until(() => lines.length >= count)),
    kill: () => {
      child.signal('SIGKILL')
      return ended
    },
    ended,
  }
}

async function work(store: DirectoryStore, job: Job): Promise<void> {
  switch (job.type) {
    case 'contend':
      for (const name of job.names) await makeAccount(store, name).catch(unlessThere)
      return
    case 'count':
      for (let added = 0; added < job.projects; added++) await addProject(store, job.account)
      return
    case 'fill':
      return fill(store)
    case 'write':
      for (let number = 0; ; number++) await makeAccount(store, `${job.prefix}-${number}`)
  }
}

/** Makes accounts until that fails; then reads the first, says so, and tries once more. */
async function fill(store: DirectoryStore): Promise<void> {
  for (let number = 0; ; number++)
    try {
      await makeAccount(store, `account-${number}`)
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      break
    }
  const first = await store.records.account('account-0')
  const again = await makeAccount(store, 'again').catch((error: unknown) => (error as CallError).code)
  writeSync(1, `${first?.account} ${again}\n`)
}

function unlessThere(error: unknown): void {
  if (!(error instanceof AlreadyExists)) throw error
}

/** Named by how many there are, which another process must not change meanwhile. */
async function addProject(store: DirectoryStore, name: string): Promise<void> {
  await store.change('a process', async (change) => {
    change.writer.hold({ account: name, changes: 'account' })
    const account = await change.records.account(name)
    if (account === undefined) throw new Error('the account is not there')
    const { length } = await change.records.projects(name, { after: '', size: 1000 })
    await change.createProject(account, `project-${length}`)
  })
}

/** An account with a project and a user in it, in one change; said when it holds. */
async function makeAccount(store: DirectoryStore, name: string): Promise<void> {
  await store.change('a process', async (change) => {
    await change.createAccount(name)
    const account = await change.records.account(name)
    if (account === undefined) throw new Error('an account is not there after it was made')
    await change.createProject(account, 'project')
    await change.createUser(account, { name: 'person', type: 'control_panel_user' })
  })
  writeSync(1, `${name}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { location, job } = JSON.parse(process.argv[2] ?? '') as { location: Location; job: Job }
  const store = await openLocation(location)
  await work(store, job)
  await store.close()
}
