/** Backups of a sidecar with people and tokens, and commands that make and restore them. */
import { copyFileSync, cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { issued, populate, type RunningSidecar, runSidecar } from '../sidecar/sidecar.ts'
import { newFolder } from '../suite/resources.ts'
import { command } from './command-line.ts'

/** A command that succeeds, and its JSON. */
export async function done(...args: string[]) {
  const { code, stdout, stderr } = await command([...args, '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout) as {
    readonly warnings: readonly string[]
    readonly rows: Readonly<Record<string, number>>
    readonly change: number
    readonly last_change: number
    readonly kept_as?: string
    readonly changes: readonly Readonly<Record<'action' | 'account' | 'subject_id', string>>[]
  }
}

export async function refused(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await command([...args])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  return stderr
}

export const newBackup = () => join(newFolder(), 'directory.backup')

/** The reason in a check's answer about an IAM token or a static token. */
export async function reasonOf({ client }: RunningSidecar, value: string): Promise<string> {
  const [api, header] = value.startsWith('pcst_') ? ['reports', 'X-Token'] : ['balance', 'X-Auth-Token']
  return (await client.check({ api, credentials: [[header, value]] })).reason
}

/** A sidecar with people, tokens, and a token that was revoked. */
export async function scene() {
  const running = await runSidecar()
  const secrets = await populate(running)
  const [token, revoked] = [await issued(running, secrets), await issued(running, secrets)]
  await running.client.revoke({ value: revoked.value })
  return { running, secrets, token: token.value, revoked: revoked.value, data: ['--data', running.folder] }
}

/** Names and contents, without what SQLite keeps beside an open file. */
export const contentOf = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => !/-(wal|shm)$/.test(name))
      .map((name) => [name, readFileSync(join(folder, name)).toString('base64')]),
  )

/**
 * Makes a folder whose sidecar was stopped, and its backup, once for a test file.
 *
 * @returns what copies both for a test
 */
export function newStopped() {
  let prepared: Promise<{ folder: string; backup: string }> | undefined
  const prepare = async () => {
    const { running, data } = await scene()
    const backup = newBackup()
    await done('backup', backup, ...data)
    await running.sidecar.close()
    return { folder: running.folder, backup }
  }
  return async () => {
    prepared ??= prepare()
    const { folder: original, backup: made } = await prepared
    const [folder, backup] = [join(newFolder(), 'data'), newBackup()]
    cpSync(original, folder, { recursive: true })
    copyFileSync(made, backup)
    return { folder, backup, data: ['--data', folder] }
  }
}
