/** A real sidecar, started from the command line as a person would. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { repository } from './command.ts'

/** What the ready line of `serve --dev --json` says. */
interface Ready {
  readonly grpc: string
  readonly matrix_digest: string
  readonly demo: {
    readonly account: string
    readonly project: string
    readonly service_user: { readonly name: string; readonly password: string }
    readonly static_token: string
  }
}

export interface Sidecar extends Omit<Ready, 'grpc'> {
  /** Where gRPC listens. */
  readonly address: string
  /** The caller token of its operator. */
  readonly administratorToken: string
  /** Ends it, and everything that it left behind. @throws Error where it did not end as it should */
  stop(): Promise<void>
}

/** Starts a development sidecar and resolves when it is ready. */
export async function startSidecar(...flags: readonly string[]): Promise<Sidecar> {
  const data = mkdtempSync(join(tmpdir(), 'portcullis-interop-data-'))
  const listening = flags.includes('--grpc') ? [] : ['--grpc', '127.0.0.1:0']
  const given = ['--dev', '--json', ...listening, '--http', 'off', '--data', data, ...flags]
  const child = spawn(process.execPath, [join('sidecar', 'portcullis.js'), 'serve', ...given], {
    cwd: repository,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const { grpc, ...ready } = await readyLine(child, () => said)
  return {
    ...ready,
    address: grpc,
    administratorToken: readFileSync(join(data, 'administrator-token'), 'utf8').trim(),
    stop: async () => {
      child.kill('SIGTERM')
      const [code, signal] = await ended
      rmSync(data, { recursive: true, force: true })
      if (code !== 0) throw new Error(`the sidecar ended with ${code ?? signal}: ${said}`)
    },
  }
}

function readyLine(child: ChildProcess, said: () => string): Promise<Ready> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) throw new TypeError('expected a standard output')
    createInterface(child.stdout).once('line', (line) => resolve(JSON.parse(line)))
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`the sidecar did not start: ${said()}`)))
  })
}
