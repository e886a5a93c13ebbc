/** A sidecar and its operator, with a new account for each test of a file. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach } from 'vitest'
import type { Client, DirectoryClient } from '../../../clients/typescript/index.ts'
import { type RunningSidecar, runSidecar } from './sidecar.ts'

export let running: RunningSidecar
export let client: Client
export let directory: DirectoryClient
/** A new account for each test, so that none sees another's. */
export let account: string
let accounts = 0

/** How far the sidecar's clock is ahead of ours. */
export const clock = {
  aheadMs: 0,
  /** Every token that was issued by now. */
  expire() {
    this.aheadMs = 25 * 3_600_000
  },
}

/** Starts the sidecar for the tests of a file. */
export function administer(): void {
  beforeAll(async () => {
    running = await runSidecar({ now: () => Date.now() + clock.aheadMs })
    client = running.connect({
      callerToken: readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim(),
    })
    directory = client.directory
  })

  beforeEach(async () => {
    clock.aheadMs = 0
    account = `account-${++accounts}`
    await directory.createAccount({ account })
  })
}

export const ACCOUNT_SCOPE = { scope: 1 as const, projects: [] }
export const projectsScope = (...projects: string[]) => ({ scope: 2 as const, projects })

/** A service user with these permissions and a token of theirs. */
export async function machine(
  permissions: { scope: 1 | 2; projects: string[] }[] = [ACCOUNT_SCOPE],
  project?: string,
) {
  const { password } = await directory.createServiceUser({ account, name: 'machine', permissions })
  const login = { userName: 'machine', account, password }
  const scope = project === undefined ? { account } : { account, project }
  return { login, scope, token: await client.issue({ password: login, scope }) }
}

/** The reason that a check of this token gives. */
export async function reasonOf(
  value: string,
  options: { header?: string; clientAddress?: string } = {},
): Promise<string> {
  const { header = 'X-Auth-Token', clientAddress } = options
  const api = header === 'X-Token' ? 'reports' : 'dedicated-servers'
  const answer = await client.check({
    api,
    credentials: [[header, value]],
    ...(clientAddress !== undefined && { clientAddress }),
  })
  return answer.reason
}
