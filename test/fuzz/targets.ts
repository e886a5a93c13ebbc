/** Every reader of outside bytes, by the file with its promises. */
import type { Target } from './target.ts'

/** File of `targets/` → its targets. It is loaded alone, so that only what it reads is counted. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  transport: ['http2-frames', 'http2-server', 'hpack', 'huffman', 'grpc-messages', 'base64'],
  contract: ['protobuf', 'check-request', 'call-requests', 'hub-messages', 'ext-authz', 'contract-json'],
  headers: ['credentials', 'egress-headers', 'proxy-headers', 'forwarded-calls', 'call-heads'],
  names: [
    'request-target',
    'routes',
    'route-patterns',
    'certificate-names',
    'x509-names',
    'addresses',
    'listen-addresses',
    'visible-text',
  ],
  documents: ['json', 'yaml', 'matrix', 'query', 'login-body', 'authzen', 'passkey-json', 'upstream-answers'],
  imports: ['imports'],
  tokens: ['iam-token', 'iam-claims', 'static-token', 'key-file', 'page-tokens'],
  'decision-log': ['decision-log'],
  files: [
    'config-files',
    'environment',
    'cli-words',
    'backup',
    'damaged-backup',
    'keys-backup',
    'directory-file',
  ],
}

export const TARGETS: readonly string[] = Object.values(FILES).flat()

/** @throws Error if there is no such target */
export async function loadTarget(name: string): Promise<Target> {
  const { planted } = await import('./planted.ts')
  const found = planted.find((each) => each.name === name)
  if (found !== undefined) return found
  const [file] = Object.entries(FILES).find(([, names]) => names.includes(name)) ?? []
  if (file === undefined) throw new Error(`no target \`${name}\`; there are ${TARGETS.join(', ')}`)
  const { targets } = (await import(`./targets/${file}.ts`)) as { targets: readonly Target[] }
  const target = targets.find((each) => each.name === name)
  if (target === undefined) throw new Error(`targets/${file}.ts has no target \`${name}\``)
  return target
}
