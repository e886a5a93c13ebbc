/** The Go client and grpcurl: modules from the module proxy, stubs generated from the protos. */
import { cpSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { installed, interopFolder, run, runBuf } from './command.ts'

const program = join(interopFolder, 'go')

/** The module's own go.mod decides, nothing around it. */
export const ENVIRONMENT = { GOFLAGS: '-mod=readonly', GOWORK: 'off', CGO_ENABLED: '0' }

const GRPCURL = 'github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4'

/**
 * Installs buf and the code generators that go.mod names, and fetches the modules.
 *
 * @returns the folder of the generators
 */
export async function installGo(): Promise<string> {
  await runBuf(['--version'])
  const modules = ['go.mod', 'go.sum'].map((name) => readFileSync(join(program, name), 'utf8'))
  const version = await run('go', ['version'], { cwd: program })
  const folder = await installed('go', [version, ...modules], async (folder) => {
    const env = { ...ENVIRONMENT, GOBIN: folder }
    await run('go', ['install', 'tool'], { cwd: program, env })
  })
  // Every time: Go's own cache can be emptied without ours.
  await run('go', ['mod', 'download'], { cwd: program, env: ENVIRONMENT })
  return folder
}

/** Installs grpcurl. @returns its path */
export async function installGrpcurl(): Promise<string> {
  const version = await run('go', ['version'])
  const folder = await installed('grpcurl', [version, GRPCURL], async (folder) => {
    await run('go', ['install', GRPCURL], { env: { ...ENVIRONMENT, GOBIN: folder } })
  })
  return join(folder, 'grpcurl')
}

/** Generates the stubs into `folder` and compiles the client there. @returns its path */
export async function generateGo(generators: string, folder: string): Promise<string> {
  cpSync(program, folder, { recursive: true })
  const path = [generators, process.env.PATH].join(delimiter)
  const template = join(program, 'buf.gen.yaml')
  await runBuf(['generate', '--template', template, '--output', folder], { env: { PATH: path } })
  // Without the module proxy: from here on a failure is ours. Trimmed paths let Go's cache serve any folder.
  const env = { ...ENVIRONMENT, GOPROXY: 'off' }
  await run('go', ['build', '-trimpath', '-o', 'client', '.'], { cwd: folder, env })
  return join(folder, 'client')
}
