/** Express and Hono as npm has them, kept for the next run. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { installed, run } from './command.ts'

const PACKAGES = ['express@5', '@types/express@5', 'hono@4', '@hono/node-server@1'] as const

/** @returns the folder that has `node_modules` */
export function installFrameworks(): Promise<string> {
  return installed('frameworks', PACKAGES, async (folder) => {
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, ...PACKAGES])
  })
}

/** A module that is installed there. */
export function frameworkIn<T>(folder: string, name: string): T {
  return createRequire(join(folder, 'package.json'))(name) as T
}
