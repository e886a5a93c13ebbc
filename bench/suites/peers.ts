/**
 * Suites that compare Portcullis with foreign software. The code that speaks to that software is in
 * `bench/peers/`, which has separate packages and types and runs as a child process. The product does not
 * depend on it.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { installPeers } from '../harness/install.ts'
import { ROOT } from '../harness/paths.ts'
import type { Size, Suite, SuiteReport } from '../harness/suite.ts'

const FOLDER = join(ROOT, 'bench', 'peers')

/** Libraries that decide in the calling process: CASL, Casbin, Cedar, OPA. */
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
  'json-cerbos-cpu',
  'json-cerbos-time',
  'json-opa-cpu',
  'json-opa-time',
  'authorize-cerbos-cpu',
  'authorize-cerbos-time',
  'authorize-opa-cpu',
  'authorize-opa-time',
  'keystone-cpu',
  'keystone-time',
  'keystone-check-cpu',
  'keystone-check-time',
])

/** @param rows ids of the rows that the program measures or skips */
function peerSuite(name: string, program: string, rows: readonly string[]): Suite {
  const run = async (size: Size): Promise<SuiteReport> => {
    const installed = await installPeers(FOLDER)
    if (installed.ok) return runPeers(join(FOLDER, program), size)
    return { rows: [], skipped: rows.map((row) => ({ row, why: installed.why })), answersChecked: 0 }
  }
  return { name, needs: 'peers', run }
}

/** Runs a program of `bench/peers` on this Node. Its output goes to standard error. @returns its report */
async function runPeers(path: string, size: Size): Promise<SuiteReport> {
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
