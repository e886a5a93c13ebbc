/** Compiles protos to the descriptors in git. Only this needs buf. */
import { execFileSync } from 'node:child_process'
import { ROOT } from '../packages.ts'

type Compiled = readonly (readonly [protos: string, output: string, ...options: string[]])[]

/** The sources that each name of `npm run gen -- NAME` compiles. */
export const COMPILED: Readonly<Record<string, Compiled>> = {
  descriptors: [
    ['proto', 'proto/portcullis.binpb'],
    ['sidecar/contract/ext-authz/proto', 'proto/envoy.binpb'],
    ['node_modules/grpc-health-check/proto', 'proto/health.binpb'],
  ],
  released: [['proto', 'proto/released.binpb', '--exclude-source-info']],
}

export function compile(name: string): void {
  for (const [protos, output, ...options] of COMPILED[name] ?? []) {
    const args = ['build', protos, '--as-file-descriptor-set', ...options, '-o', output]
    execFileSync(process.execPath, ['scripts/buf.ts', ...args], { cwd: ROOT, stdio: 'inherit' })
  }
}
