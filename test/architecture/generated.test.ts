/**
 * Generated files are made again where a source of them has changed. `test/interop/contract.test.ts`, where
 * buf may be installed, compares the descriptors with those that `buf` compiles.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { create, fromBinary, toJson } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema, FileOptionsSchema } from '@bufbuild/protobuf/wkt'
import { loadFileDescriptorSetFromBuffer, loadSync, type PackageDefinition } from '@grpc/proto-loader'
import { describe, expect, test } from 'vitest'
import { isCurrent, type Recorded, readRecord } from '../../scripts/generate.ts'
import { ROOT, sourcesIn, valueImportsOf } from '../support/checkout/sources.ts'
import { printedApis, printedKinds } from '../support/matrices/oracle.ts'

describe('generated code', () => {
  const record = readRecord()

  test('is of the sources as they are', () => {
    expect(Object.keys(record)).toEqual(['messages', 'openapi', 'schemas', 'ids', 'page', 'chart'])
    for (const [part, recorded] of Object.entries(record)) expect(isCurrent(recorded), part).toBe(true)
  })

  test.each<[part: string, inputs: readonly string[]]>([
    ['messages', globSync('proto/{portcullis,google_rpc,health}.binpb', { cwd: ROOT })],
    ['openapi', ['proto/portcullis.binpb']],
    [
      'schemas',
      globSync('{matrix,sidecar}/**/*.schema.json', { cwd: ROOT, exclude: ['**/node_modules/**'] }),
    ],
    ['ids', ['matrix/support-matrix.json']],
    ['chart', ['sidecar/config/config.schema.json']],
    ['page', ['console/page.html', 'console/main.tsx', 'console/styles/panel.css', 'engine/decide.ts']],
  ])('%s: a change of each input is noticed, of a generator, and of a file that was made', (part, inputs) => {
    const recorded = record[part] as Recorded
    const tools = ['scripts/generate.ts', `scripts/generate/${part}.ts`, 'node_modules/.package-lock.json']
    expect(Object.keys(recorded.inputs)).toEqual(expect.arrayContaining([...inputs, ...tools]))
    const digests = { ...recorded.inputs, ...recorded.files }
    expect(isCurrent(recorded, (path) => digests[path] ?? '')).toBe(true)
    const paths = Object.keys(digests)
    const unnoticed = paths.filter((changed) =>
      isCurrent(recorded, (path) => (path === changed ? 'another' : (digests[path] ?? ''))),
    )
    expect(unnoticed).toEqual([])
  })

  test('is not made of generated code, so that it can be made first', () => {
    const own = sourcesIn('scripts/generate')
    expect(own.length).toBeGreaterThan(5)
    expect(own.flatMap(valueImportsOf).filter((path) => /(^|\/)gen\//.test(path))).toEqual([])
  })
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

test('the ids of the shipped matrix as types are those that the source prints, each once', () => {
  const text = readFileSync(join(ROOT, 'matrix/gen/support-matrix-ids.ts'), 'utf8')
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
