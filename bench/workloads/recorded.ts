/**
 * Calls of a sidecar with what they need: their questions in a file, beside the data folder of the sidecar
 * that answered them. Another sidecar that starts on the folder gives the same answers.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Workload } from '../harness/grpc.ts'

/** Made by `recordCalls`. */
export interface Recorded {
  /** Claims of every cell. */
  readonly claims: Workload
  /** An account-scoped and a project-scoped IAM token, each against every API. */
  readonly iamTokens: Workload
  readonly staticToken: Workload
  readonly batch: Workload
  /** Decisions in each batch. */
  readonly batchLength: number
  /** The IAM tokens, as an Envoy asks. */
  readonly envoy: Workload
}

export function dataFolderIn(folder: string): string {
  return join(folder, 'data')
}

export function writeRecorded(folder: string, recorded: Recorded): void {
  writeFileSync(fileIn(folder), JSON.stringify(recorded), { mode: 0o600 })
}

export function readRecorded(folder: string): Recorded {
  return JSON.parse(readFileSync(fileIn(folder), 'utf8'), (_key, value) =>
    value?.type === 'Buffer' ? Buffer.from(value.data) : value,
  ) as Recorded
}

function fileIn(folder: string): string {
  return join(folder, 'calls.json')
}
