/** Open Policy Agent: its installation from the Go module proxy, its policy and its data. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installed, run } from '../harness/command.ts'
import type { Rule } from './peer.ts'

const MODULE = 'github.com/open-policy-agent/opa@v1.22.0'

/** The policy. Its data come separately. */
export const OPA_POLICY = join(import.meta.dirname, 'portcullis.rego')

/** The rule that is asked for. */
export const OPA_ENTRYPOINT = 'portcullis/allow'

/** Compiles OPA, or finds it compiled. @returns its path @throws CommandFailed if it cannot be installed */
export async function installOpa(): Promise<string> {
  const version = await run('go', ['version'])
  const folder = await installed('opa', [version, MODULE], async (folder) => {
    const env = { GOBIN: folder, GOWORK: 'off', CGO_ENABLED: '0' }
    await run('go', ['install', MODULE], { env })
  })
  return join(folder, 'opa')
}

/** The data of the policy, by API and kind. OPA advises this, because an answer is then two look-ups. */
export function opaData(rules: readonly Rule[]) {
  return {
    accepts: Object.fromEntries(
      rules.map(({ api, kinds }) => [api, Object.fromEntries(kinds.map((kind) => [kind, true]))]),
    ),
  }
}

/** Compiles the policy to wasm. @returns the path of the module */
export async function compileToWasm(opa: string, folder: string): Promise<string> {
  const bundle = join(folder, 'bundle.tar.gz')
  await run(opa, [
    'build',
    '--target',
    'wasm',
    '--entrypoint',
    OPA_ENTRYPOINT,
    '--output',
    bundle,
    OPA_POLICY,
  ])
  await run('tar', ['--extract', '--gzip', '--file', bundle, '--directory', folder, '/policy.wasm'])
  return join(folder, 'policy.wasm')
}

/** Writes the policy's data for the server. @returns the files for `opa run` */
export function writeOpaData(rules: readonly Rule[], folder: string): string[] {
  mkdirSync(folder, { recursive: true })
  const data = join(folder, 'data.json')
  writeFileSync(data, JSON.stringify(opaData(rules)))
  return [OPA_POLICY, data]
}
