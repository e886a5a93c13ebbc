/**
 * Makes `proto/gen`, and `console/gen` for the page, of the descriptors that `buf` compiled. It runs the
 * plugin of ts-proto as a compiler would.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  type FileDescriptorProto,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import { ROOT } from '../packages.ts'
import type { Made } from './made.ts'

const execFileOf = promisify(execFile)

const PLUGIN = createRequire(import.meta.url).resolve('ts-proto/protoc-gen-ts_proto')

/** Descriptors in `proto/`, and the files in them to generate. Imported files are generated too. */
type Sources = readonly (readonly [descriptors: string, wanted: RegExp])[]

const SOURCES: Sources = [
  ['portcullis.binpb', /^portcullis\//],
  // google.rpc.Status and its details are sent in `grpc-status-details-bin`.
  ['google_rpc.binpb', /^google\/rpc\//],
  ['health.binpb', /^health\//],
]

const COMMON = [
  'oneof=unions-value',
  'enumsAsLiterals=true',
  'importSuffix=.ts',
  'outputPartialMethods=false',
  'useExactTypes=false',
  'useDate=true',
  'useOptionals=none',
]

/** For the sidecar, its client and their tests. */
const BINARY = [
  ...COMMON,
  'env=node',
  'esModuleInterop=true',
  'outputServices=grpc-js',
  'outputJsonMethods=false',
]

/** The service that the page asks: the directory. */
const FOR_THE_PAGE: Sources = [['portcullis.binpb', /^portcullis\/v1\/(directory|decision)\.proto$/]]

const JSON_ALONE = [
  ...COMMON,
  'env=browser',
  'outputServices=generic-definitions',
  'outputEncodeMethods=false',
]

/** Path → content, of whole folders. */
export async function makeMessages(): Promise<Made> {
  const made = await Promise.all([
    generated(SOURCES, BINARY, 'proto/gen', withoutClients),
    generated(FOR_THE_PAGE, JSON_ALONE, 'console/gen', (content) => content),
  ])
  return { files: new Map(made.flat()), inputs: SOURCES.map(([descriptors]) => `proto/${descriptors}`) }
}

async function generated(
  sources: Sources,
  options: readonly string[],
  folder: string,
  changed: (content: string) => string,
): Promise<[path: string, content: string][]> {
  const protoFile = new Map<string, FileDescriptorProto>()
  const fileToGenerate: string[] = []
  for (const [descriptors, wanted] of sources)
    for (const file of fromBinary(FileDescriptorSetSchema, readFileSync(join(ROOT, 'proto', descriptors)))
      .file) {
      protoFile.set(file.name, file)
      if (wanted.test(file.name)) fileToGenerate.push(file.name)
    }
  const request = { fileToGenerate, parameter: options.join(','), protoFile: [...protoFile.values()] }
  const running = execFileOf(process.execPath, [PLUGIN], {
    encoding: 'buffer',
    maxBuffer: 64 * 1024 * 1024,
  })
  running.child.stdin?.end(toBinary(CodeGeneratorRequestSchema, create(CodeGeneratorRequestSchema, request)))
  const { file, error } = fromBinary(CodeGeneratorResponseSchema, (await running).stdout)
  if (error !== '') throw new Error(error)
  return file.map(({ name, content }) => [`${folder}/${name}`, changed(content)])
}

/**
 * Leaves the type of a client and takes away its constructor. A program that only needs messages, as the
 * sidecar does, would load grpc-js for it. Clients are made of the service by `makeClientConstructor` of
 * grpc-js.
 */
function withoutClients(content: string): string {
  return content
    .replace(/^import \{([^}]*)\} from "@grpc\/grpc-js";$/m, (_, names: string) => {
      const types = names.replace(/^ *makeGenericClientConstructor,\n/m, '').replaceAll(/\btype /g, '')
      return `import type {${types}} from "@grpc/grpc-js";`
    })
    .replaceAll(
      /^export const (\w+Client) = makeGenericClientConstructor\([^)]*\) as unknown as \{$/gm,
      'export interface $1Constructor {',
    )
}
