/** Connect's conformance runner against our reference service on a transport. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HANGS_MS, newFolder } from '../suite/resources.ts'
import { interopFolder, runBuf } from './command.ts'
import type { TransportTools } from './transport-tools.ts'

/** The protocols that are served: gRPC on sockets, or Connect and gRPC-Web over HTTP. */
export type Conforming = 'sockets' | 'http'

/**
 * gRPC with all that it has: every kind of call, compression, TLS with client certificates, a limit for
 * messages.
 */
const GRPC = {
  versions: ['HTTP_VERSION_2'],
  protocols: ['PROTOCOL_GRPC'],
  codecs: ['CODEC_PROTO'],
  compressions: ['COMPRESSION_IDENTITY', 'COMPRESSION_GZIP'],
  supportsH2c: true,
  supportsTls: true,
  supportsTlsClientCerts: true,
  supportsTrailers: true,
  supportsMessageReceiveLimit: true,
}

/** Connect and gRPC-Web, as the HTTP listener has them: HTTP/2 only with TLS, and no GET. */
const HTTP = {
  ...GRPC,
  versions: ['HTTP_VERSION_1', 'HTTP_VERSION_2'],
  protocols: ['PROTOCOL_CONNECT', 'PROTOCOL_GRPC_WEB'],
  codecs: ['CODEC_PROTO', 'CODEC_JSON'],
  supportsH2c: false,
  supportsTlsClientCerts: false,
  supportsConnectGet: false,
  supportsHalfDuplexBidiOverHttp1: false,
}

interface Configuration {
  readonly features: object
  /** Cases that are not served. */
  readonly excludeCases: readonly object[]
}

const CONFIGURATIONS: Readonly<Record<Conforming, Configuration>> = {
  // With TLS every client presents a certificate.
  sockets: { features: GRPC, excludeCases: [{ useTls: true, useTlsClientCerts: false }] },
  // The contract has no streams of requests with one answer. Here they are streams in both directions, which
  // need HTTP/2.
  http: {
    features: HTTP,
    excludeCases: [{ version: 'HTTP_VERSION_1', streamType: 'STREAM_TYPE_CLIENT_STREAM' }],
  },
}

export interface ConformanceOutcome {
  /** The suite, the permutation and the case. */
  readonly name: string
  /** The complaints of the runner. */
  readonly complaints: readonly string[]
}

/** @returns one outcome for each case */
export async function runConformance(
  { connectconformance, conformanceProtos }: TransportTools,
  transport: Conforming,
): Promise<ConformanceOutcome[]> {
  const folder = newFolder()
  const configuration = join(folder, 'features.yaml')
  // JSON is YAML.
  writeFileSync(configuration, JSON.stringify(CONFIGURATIONS[transport]))
  const program = join(interopFolder, 'transport', 'conformance', 'server.ts')
  const descriptors = join(folder, 'conformance.binpb')
  await runBuf(['build', conformanceProtos, '--as-file-descriptor-set', '-o', descriptors])
  const server = [program, transport, conformanceProtos, descriptors]
  const printed = await new Promise<string>((resolve) => {
    const args = ['--mode', 'server', '--vv', '--conf', configuration, '--', process.execPath, ...server]
    const options = { timeout: HANGS_MS, maxBuffer: 64 * 1024 * 1024 }
    // It fails where a case fails. The output says which one.
    execFile(connectconformance, args, options, (_error, stdout, stderr) => resolve(stdout + stderr))
  })
  const names = new Set(
    Array.from(printed.matchAll(/^Sending request for "(.*)"\.\.\.$/gm), ([, name = '']) => name),
  )
  const failed = new Map(
    Array.from(printed.matchAll(/^FAILED: (.*):\n((?:\t.*\n)+)/gm), ([, name = '', text = '']) => [
      name,
      text
        .split('\n')
        .map((line) => line.replace(/^[\s;]+/, ''))
        .filter((line) => line !== ''),
    ]),
  )
  if (!/^Total cases: \d+$/m.test(printed))
    throw new Error(`the runner has not come to its end: ${printed.slice(-2000)}`)
  return Array.from(new Set([...names, ...failed.keys()]), (name) => ({
    name,
    complaints: failed.get(name) ?? [],
  }))
}
