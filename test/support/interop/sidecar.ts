/** A real sidecar, started from the command line as a person would. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Demo, type Ready, serveDemo } from '../processes/processes.ts'
import { newFolder } from '../suite/resources.ts'
import { run } from './command.ts'

export interface Sidecar {
  /** Where gRPC listens. */
  readonly address: string
  readonly ready: Ready
  readonly demo: Demo
  /** The data folder. */
  readonly data: string
  /** The caller token of its administrator. */
  readonly administratorToken: string
  /** Everything that it printed on standard error. */
  log(): string
  /** Ends it. @throws Error where it did not end as it should */
  stop(): Promise<void>
}

/** Starts a development sidecar and resolves when it is ready. */
export async function startSidecar(...flags: readonly string[]): Promise<Sidecar> {
  const data = newFolder()
  const { ready, demo, stderr, stop } = await serveDemo(['--data', data, ...flags])
  return {
    address: ready.grpc,
    ready,
    demo,
    data,
    administratorToken: readFileSync(join(data, 'administrator-token'), 'utf8').trim(),
    log: stderr,
    stop: async () => {
      const { code } = await stop()
      if (code !== 0) throw new Error(`the sidecar ended with ${code}: ${stderr()}`)
    },
  }
}

/** Whether the client that is installed in a folder lets a token pass that opens an API. */
export async function passesInstalledClient(node: string, folder: string): Promise<boolean> {
  const sidecar = await startSidecar()
  try {
    const program = `
      import { connect } from '@portcullis/client'
      const client = connect('${sidecar.address}', { deadlineMs: 600_000 })
      const credentials = { 'X-Token': '${sidecar.demo.static_token}' }
      console.log((await client.check({ api: 'reports', credentials })).allowed)
      client.close()
    `
    const printed = await run(node, ['--input-type=module', '--eval', program], { cwd: folder })
    return printed.trim() === 'true'
  } finally {
    await sidecar.stop()
  }
}
