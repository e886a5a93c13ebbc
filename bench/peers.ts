/**
 * Suites that put foreign software beside ours. What speaks to that software lives in `bench/peers/`, with packages and
 * types of its own, and runs as a child process; the product depends on none of it.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { installPeers } from './install.ts'
import type { Size, Suite, SuiteReport } from './suite.ts'

const FOLDER = join(import.meta.dirname, 'peers')

/** Libraries that decide in the process that asks: CASL, Casbin, Cedar, OPA. */
export const peersSuite: Suite = peerSuite('peers', 'in-process.ts', [
  'casl',
  'casl-ability-at-hand',
  'casbin',
  'casbin-cached',
  'cedar',
  'opa-wasm',
])

/** Servers over loopback: Cerbos, OPA, Keystone. */
export const serversSuite: Suite = peerSuite('servers', 'servers.ts', [
  'cerbos-cpu',
  'cerbos-time',
  'opa-cpu',
  'opa-time',
  'keystone-cpu',
  'keystone-time',
])

/** @param rows what the program produces or says it skipped */
function peerSuite(name: string, program: string, rows: readonly string[]): Suite {
  const run = async (size: Size): Promise<SuiteReport> => {
    const installed = await installPeers(FOLDER)
    if (installed.ok) return runProgram(join(FOLDER, program), size)
    return { rows: [], skipped: rows.map((row) => ({ row, why: installed.why })), answersChecked: 0 }
  }
  return { name, needs: 'peers', run }
}

/** Runs a program of `bench/peers` on this Node; what it prints goes to standard error. @returns its report */
async function runProgram(path: string, size: Size): Promise<SuiteReport> {
  const child = fork(path, [size], { stdio: ['ignore', process.stderr, process.stderr, 'ipc'] })
  const exit = once(child, 'exit')
  const report = await Promise.race([
    once(child, 'message').then(([message]) => message as SuiteReport),
    exit.then(([code, signal]) => {
      throw new Error(`${path} ended with ${code ?? signal} before it reported`)
    }),
  ])
  child.disconnect()
  await exit
  return report
}
