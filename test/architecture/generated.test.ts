/**
 * The generated code is what the contract and the schemas generate, byte for byte. That the descriptors,
 * which the messages are generated from, are what `buf` compiles byte for byte is shown where buf may be
 * installed: test/interop/contract.test.ts.
 */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { create, fromBinary, toJson } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema, FileOptionsSchema } from '@bufbuild/protobuf/wkt'
import { loadFileDescriptorSetFromBuffer, loadSync, type PackageDefinition } from '@grpc/proto-loader'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { printedApis, printedKinds } from '../support/matrices/oracle.ts'
import { newFolder } from '../support/suite/resources.ts'

test('the messages are what the plugins make of the descriptors in proto/', { timeout: 120_000 }, () => {
  const output = newFolder()
  execFileSync(process.execPath, ['scripts/generate-messages.ts', output], { cwd: ROOT, stdio: 'pipe' })
  // Those of the sidecar by ts-proto, and those of the page by protobuf-es.
  for (const folder of ['proto/gen', 'console/gen']) {
    const generated = filesIn(join(output, folder))
    expect(generated.size).toBeGreaterThan(0)
    expect(filesIn(join(ROOT, folder)), folder).toEqual(generated)
  }
})

describe('the descriptors that reflection serves say what the files of proto/ say', () => {
  const protos = join(ROOT, 'proto')
  const files = globSync('portcullis/**/*.proto', { cwd: protos })
  const descriptors = readFileSync(join(protos, 'portcullis.binpb'))

  test('messages, enums and calls, as another reader reads them', () => {
    const read = typesOf(loadSync(files, { keepCase: true, includeDirs: [protos] }))
    expect(read.size).toBeGreaterThan(50)
    expect(typesOf(loadFileDescriptorSetFromBuffer(descriptors))).toEqual(read)
  })

  test.each(files)('comments and options of %s', (file) => {
    const text = readFileSync(join(protos, file), 'utf8')
    const described = fromBinary(FileDescriptorSetSchema, descriptors).file.find(({ name }) => name === file)
    const comments = (described?.sourceCodeInfo?.location ?? []).flatMap(
      ({ leadingDetachedComments, leadingComments, trailingComments }) =>
        [...leadingDetachedComments, leadingComments, trailingComments].join('\n').match(/.*\S/g) ?? [],
    )
    const written = Array.from(text.matchAll(/^ *\/\/(.*\S)$/gm), ([, line]) => line)
    expect(written.length).toBeGreaterThan(10)
    expect(comments.toSorted()).toEqual(written.toSorted())
    const options = toJson(FileOptionsSchema, described?.options ?? create(FileOptionsSchema), {
      useProtoFieldName: true,
    })
    const stated = Array.from(text.matchAll(/^option (\w+) = (.*);$/gm), ([, name = '', value = '']) => [
      name,
      JSON.parse(value),
    ])
    expect(options).toEqual(Object.fromEntries(stated))
  })
})

test('the OpenAPI document is what the descriptors say', () => {
  const output = newFolder()
  execFileSync(process.execPath, ['scripts/generate-openapi.ts', output], { cwd: ROOT, stdio: 'pipe' })
  const document = readFileSync(join(ROOT, 'proto/openapi.json'), 'utf8')
  expect(document).toBe(readFileSync(join(output, 'proto/openapi.json'), 'utf8'))
})

test('the validators and the types of keys are what is made of the schemas', { timeout: 120_000 }, () => {
  const output = newFolder()
  execFileSync(process.execPath, ['scripts/compile-schemas.ts', output], { cwd: ROOT, stdio: 'pipe' })
  const generated = filesIn(output)
  expect([...generated.keys()]).toEqual([
    'matrix/gen/support-matrix.ts',
    'sidecar/cli/commands/matrix/gen/allowed-flips.ts',
    'sidecar/config/gen/agent-keys.ts',
    'sidecar/config/gen/agent.ts',
    'sidecar/config/gen/config-keys.ts',
    'sidecar/config/gen/config.ts',
    'sidecar/config/gen/directory.ts',
    'sidecar/config/gen/policy-tests.ts',
    'sidecar/signals/decision-log/gen/line.ts',
  ])
  for (const [path, text] of generated) expect(readFileSync(join(ROOT, path), 'utf8'), path).toBe(text)
})

test('the ids of the shipped matrix as types are those of its file', () => {
  const output = newFolder()
  execFileSync(process.execPath, ['scripts/matrix-ids.ts', output], { cwd: ROOT, stdio: 'pipe' })
  const path = 'matrix/gen/support-matrix-ids.ts'
  const text = readFileSync(join(ROOT, path), 'utf8')
  expect(filesIn(output)).toEqual(new Map([[path, text]]))
  // As many as the source prints, each once.
  const ids = [...text.matchAll(/ {2}\| '([a-z0-9_-]+)'/g)].map(([, id]) => id)
  expect(ids).toEqual([...printedKinds(), ...printedApis()])
})

/** Parts of a type in which readers differ: whole files, and options, which one of them fills up. */
const APART = ['fileDescriptorProtos', 'options']

/** Name → the message or enum with its fields, or the service with its calls. */
function typesOf(read: PackageDefinition): Map<string, unknown> {
  const types = Object.entries(read).filter(([name]) => name.startsWith('portcullis.'))
  const common = (key: string, value: unknown) => (APART.includes(key) ? undefined : value)
  return new Map(types.map(([name, type]) => [name, JSON.parse(JSON.stringify(type, common))]))
}

/** Path → content. */
function filesIn(folder: string): Map<string, string> {
  const paths = globSync('**/*.ts', { cwd: folder }).sort()
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]))
}
