/**
 * The Go programs that look at a transport: h2spec, Connect's conformance runner, and the HPACK of
 * golang.org/x/net.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installed, interopFolder, run } from './command.ts'
import { ENVIRONMENT } from './go.ts'
import { type Outcome, obtained } from './obtain.ts'

const module = join(interopFolder, 'transport', 'go')

export interface TransportTools {
  readonly h2spec: string
  readonly connectconformance: string
  /** Takes and prints lines of JSON: see its main.go. */
  readonly hpack: string
  /** The folder with the protos of the conformance service. */
  readonly conformanceProtos: string
}

/** Installs them with the versions of their go.mod. */
export function obtainTransportTools(): Promise<Outcome<TransportTools>> {
  return obtained('h2spec, connectconformance or the HPACK of Go', install)
}

async function install(): Promise<TransportTools> {
  const sources = ['go.mod', 'go.sum', 'main.go'].map((name) => readFileSync(join(module, name), 'utf8'))
  const version = await run('go', ['version'], { cwd: module })
  const folder = await installed('transport', [version, ...sources], async (folder) => {
    await run('go', ['install', 'tool', '.'], { cwd: module, env: { ...ENVIRONMENT, GOBIN: folder } })
  })
  const conformance = ['list', '-m', '-f', '{{.Dir}}', 'connectrpc.com/conformance']
  // Go's own cache can be emptied without ours.
  await run('go', ['mod', 'download', 'connectrpc.com/conformance'], { cwd: module, env: ENVIRONMENT })
  const sourcesOfConformance = (await run('go', conformance, { cwd: module, env: ENVIRONMENT })).trim()
  return {
    h2spec: join(folder, 'h2spec'),
    connectconformance: join(folder, 'connectconformance'),
    hpack: join(folder, 'transport'),
    conformanceProtos: join(sourcesOfConformance, 'proto'),
  }
}
