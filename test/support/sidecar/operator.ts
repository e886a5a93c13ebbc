/** The operator of a sidecar: a client with the administrator token of its data folder. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '../../../clients/typescript/index.ts'
import type { RunningSidecar } from './sidecar.ts'

export function operatorOf({ folder, connect }: RunningSidecar): Client {
  return connect({ callerToken: readFileSync(join(folder, 'administrator-token'), 'utf8').trim() })
}
