/**
 * Generates `proto/gen`, and `console/gen` for the page, from the descriptors that `buf` compiled
 * (`npm run gen`). It runs the plugins of ts-proto and of protobuf-es as a compiler would. It only needs the
 * committed descriptors, so `npm test` can compare the result without `buf`. With a folder as its argument,
 * it writes there instead of into the checkout.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  type FileDescriptorProto,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'

const ROOT = join(import.meta.dirname, '..')

/** Descriptors in `proto/`, and the files in them to generate. Imported files are generated too. */
const SOURCES: readonly (readonly [descriptors: string, wanted: RegExp])[] = [
  ['portcullis.binpb', /^portcullis\//],
  // google.rpc.Status and its details are sent in `grpc-status-details-bin`.
  ['google_rpc.binpb', /^google\/rpc\//],
  ['health.binpb', /^health\//],
]

/** For the sidecar, its client and their tests. */
const TS_PROTO = {
  plugin: 'ts-proto/protoc-gen-ts_proto',
  options: [
    'outputServices=grpc-js',
    'esModuleInterop=true',
    'oneof=unions-value',
    'enumsAsLiterals=true',
    'env=node',
    'importSuffix=.ts',
    'outputJsonMethods=false',
    'outputPartialMethods=false',
    'useExactTypes=false',
    'useDate=true',
    'useOptionals=none',
  ],
}

/**
 * For the page: connect-web reads the JSON of the contract by these descriptions, without code that is made
 * while it runs.
 */
const PROTOBUF_ES = {
  plugin: '@bufbuild/protoc-gen-es/bin/protoc-gen-es',
  options: ['target=ts', 'import_extension=ts', 'erasable_syntax=true'],
}

/** What the page asks: the directory, and the reasons of errors. */
const FOR_THE_PAGE: readonly (readonly [descriptors: string, wanted: RegExp])[] = [
  ['portcullis.binpb', /^portcullis\/v1\/(directory|decision)\.proto$/],
  ['google_rpc.binpb', /^google\/rpc\/error_details\.proto$/],
]

const root = process.argv[2] ?? ROOT
generate(SOURCES, TS_PROTO, join(root, 'proto', 'gen'), withoutClients)
generate(FOR_THE_PAGE, PROTOBUF_ES, join(root, 'console', 'gen'), (content) => content)

/** Generates a whole folder anew. */
function generate(
  sources: typeof SOURCES,
  generator: typeof TS_PROTO,
  output: string,
  changed: (content: string) => string,
): void {
  rmSync(output, { recursive: true, force: true })
  for (const [descriptors, wanted] of sources) {
    const { file } = fromBinary(FileDescriptorSetSchema, readFileSync(join(ROOT, 'proto', descriptors)))
    for (const { name, content } of filesOf(file, wanted, generator)) {
      const path = join(output, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, changed(content))
    }
  }
}

/** Returns the files that the plugin generates. */
function filesOf(protoFile: FileDescriptorProto[], wanted: RegExp, { plugin, options }: typeof TS_PROTO) {
  const request = create(CodeGeneratorRequestSchema, {
    fileToGenerate: protoFile.map(({ name }) => name).filter((name) => wanted.test(name)),
    parameter: options.join(','),
    protoFile,
  })
  const response = execFileSync(process.execPath, [createRequire(import.meta.url).resolve(plugin)], {
    input: toBinary(CodeGeneratorRequestSchema, request),
    maxBuffer: 64 * 1024 * 1024,
  })
  const { file, error } = fromBinary(CodeGeneratorResponseSchema, response)
  if (error !== '') throw new Error(error)
  return file
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
