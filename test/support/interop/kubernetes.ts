/** Helm, and the program that reads manifests as a cluster would: from the Go module proxy, compiled once. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run as portcullis, startProcess } from '../processes/processes.ts'
import { CERTIFICATE, KEY } from '../proxies/self-signed.ts'
import { newFile, newFolder } from '../suite/resources.ts'
import { CommandFailed, installed, interopFolder, run } from './command.ts'
import { ENVIRONMENT } from './go.ts'
import type { Manifest } from './manifests.ts'
import { available, type Outcome } from './obtain.ts'

const program = join(interopFolder, 'kubernetes/go')

export interface KubernetesTools {
  /** The objects of a kustomization, or of YAML documents. */
  manifestsOf(from: { readonly folder: string } | { readonly text: string }): Promise<Manifest[]>
  /** Runs Helm. @throws CommandFailed that says what it printed */
  helm(...args: string[]): Promise<string>
}

/** Fetches the modules, compiles, and gives the two programs. */
export function installKubernetesTools(): Promise<Outcome<KubernetesTools>> {
  const fetch = () => run('go', ['mod', 'download'], { cwd: program, env: ENVIRONMENT })
  return available('the modules of Kubernetes', fetch, async () => toolsIn(await compiled()))
}

/** Without the module proxy: what fails here is ours. */
async function compiled(): Promise<string> {
  const sources = ['go.mod', 'go.sum', 'main.go'].map((name) => readFileSync(join(program, name), 'utf8'))
  return installed('kubernetes', [await run('go', ['version']), ...sources], async (folder) => {
    cpSync(program, folder, { recursive: true })
    const build = (name: string, path: string) =>
      run('go', ['build', '-trimpath', '-ldflags=-s -w', '-o', name, path], {
        cwd: folder,
        env: { ...ENVIRONMENT, GOPROXY: 'off' },
      })
    await build('manifests', '.')
    await build('helm', 'helm.sh/helm/v4/cmd/helm')
  })
}

function toolsIn(folder: string): KubernetesTools {
  // Helm keeps nothing in the home folder of the tests' user.
  const home = newFolder()
  const env = { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home }
  return {
    manifestsOf: async (from) => {
      const [argument, input] = 'folder' in from ? [from.folder, ''] : ['-', from.text]
      const { code, stdout, stderr } = await startProcess([join(folder, 'manifests'), argument], { input })
        .ended
      if (code !== 0) throw new CommandFailed(stderr)
      return JSON.parse(stdout)
    },
    helm: (...args) => run(join(folder, 'helm'), args, { env }),
  }
}

/**
 * The output of `portcullis config validate` for a configuration in a ConfigMap, with certificates where a
 * Secret would bring them.
 */
export async function validated(text: string): Promise<string> {
  const folder = newFolder()
  for (const [name, pem] of Object.entries({ 'tls.crt': CERTIFICATE, 'tls.key': KEY, 'ca.crt': CERTIFICATE }))
    writeFileSync(join(folder, name), pem, { mode: 0o600 })
  const config = newFile(text.replaceAll(/\/etc\/portcullis-tls|\/hub\b/g, folder), 'config.json')
  return (await portcullis(['config', 'validate', '--config', config])).stdout
}
