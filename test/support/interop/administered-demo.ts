/** A development sidecar whose data folder a test knows. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Demo, type Served, serveDemo } from '../processes/processes.ts'
import { newFolder } from '../suite/resources.ts'

export interface AdministeredDemo extends Served {
  readonly demo: Demo
  /** The data folder. */
  readonly data: string
  /** The caller token of its administrator. */
  readonly administratorToken: string
}

interface DemoOptions {
  readonly flags?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts one. */
export async function serveAdministeredDemo({
  flags = [],
  environment = {},
}: DemoOptions = {}): Promise<AdministeredDemo> {
  const data = join(newFolder(), 'data')
  const served = await serveDemo(['--data', data, ...flags], { environment })
  const administratorToken = readFileSync(join(data, 'administrator-token'), 'utf8').trim()
  return { ...served, data, administratorToken }
}
