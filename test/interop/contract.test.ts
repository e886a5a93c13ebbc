/** The contract with the compilers of other languages, and its compatibility with the last release. */
import { cpSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { CommandFailed, repository, run, runBuf } from '../support/interop/command.ts'
import { installGo } from '../support/interop/go.ts'
import { missing } from '../support/interop/obtain.ts'
import { newFolder } from '../support/suite/resources.ts'

const protos = join(repository, 'proto')
const folder = newFolder()

const python = inject('python')
const go = inject('go')

/** The reason why buf cannot be obtained, if so. */
const noBuf = await runBuf(['--version']).then(
  () => undefined,
  (error: CommandFailed) => error.message,
)
if (noBuf !== undefined) missing('buf', noBuf)

describe.skipIf(noBuf !== undefined)('buf', () => {
  test.each([
    ['portcullis.binpb', protos],
    ['envoy.binpb', join(repository, 'sidecar/contract/ext-authz/proto')],
    ['health.binpb', join(repository, 'node_modules/grpc-health-check/proto')],
  ])('compiles %s, byte for byte', async (name, sources) => {
    const image = join(folder, name)
    await runBuf(['build', sources, '--as-file-descriptor-set', '-o', image])
    expect(readFileSync(join(protos, name)).equals(readFileSync(image))).toBe(true)
  })

  test('finds nothing in the contract that breaks the last release', async () => {
    expect(await breaking((text) => text)).toBe('')
  })

  test('allows a new field, a new message and a new call', async () => {
    const added = (text: string) =>
      text
        .replace('message CheckRequest {', '$& string note = 1000;')
        .replace('service AuthorizationService {', '$& rpc Ask(AskRequest) returns (AskResponse);')
        .concat('message AskRequest {}\nmessage AskResponse {}\n')
    expect(await breaking(added)).toBe('')
  })

  test.each<[change: string, from: RegExp, to: string, found: RegExp]>([
    [
      'a field gets another number',
      /string api = 1;/,
      'string api = 1000;',
      /field "1" with name "api" .*deleted/,
    ],
    ['a call is removed', /rpc Plan\(PlanRequest\) returns \(PlanResponse\);/, '', /RPC "Plan" .*deleted/],
    [
      'the Go package is changed',
      /"portcullis\/v1;portcullisv1"/,
      '"other/v1"',
      /option "go_package" changed/,
    ],
  ])('finds that %s', async (_change, from, to, found) => {
    const changed = (text: string) => {
      expect(text).toMatch(from)
      return text.replace(from, to)
    }
    expect(await breaking(changed)).toMatch(found)
  })
})

/** The report of buf about a contract with a changed authorization service; empty: nothing is broken. */
async function breaking(change: (text: string) => string): Promise<string> {
  const copy = mkdtempSync(join(folder, 'changed-'))
  cpSync(protos, join(copy, 'proto'), { recursive: true })
  cpSync(join(repository, 'buf.yaml'), join(copy, 'buf.yaml'))
  const file = join(copy, 'proto/portcullis/v1/authorization.proto')
  writeFileSync(file, change(readFileSync(file, 'utf8')))
  // The same arguments as in `npm run check`.
  const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  const [, args = ''] = /buf\.ts (breaking [^&]+)/.exec(scripts.check) ?? []
  try {
    return await runBuf(args.trim().split(' '), { cwd: copy })
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    return error.message
  }
}

describe.skipIf(!python.ok)('protoc without flags makes', () => {
  let generators = ''
  beforeAll(async () => {
    if (go.ok) generators = await installGo()
  })

  const NAMED = readdirSync(join(protos, 'portcullis/v1')).map((name) => name.replace('.proto', ''))

  /** A file that protoc makes of a proto or of a message, and its content. */
  test.each<[flag: string, file: string, content: RegExp]>([
    ['python', 'portcullis/v1/authorization_pb2.py', /portcullis\/v1\/authorization\.proto/],
    ['java', 'com/portcullis/v1/CheckRequest.java', /^package com\.portcullis\.v1;/m],
    ['java', 'com/portcullis/v1/AuthorizationProto.java', /^public final class AuthorizationProto/m],
    ['kotlin', 'com/portcullis/v1/CheckRequestKt.kt', /^package com\.portcullis\.v1;?$/m],
    ['csharp', 'Authorization.cs', /^namespace Portcullis\.V1 \{/m],
    ['ruby', 'portcullis/v1/authorization_pb.rb', /^module Portcullis\n +module V1$/m],
    ['php', 'Portcullis/V1/CheckRequest.php', /^namespace Portcullis\\V1;/m],
    ['php', 'Portcullis/V1/GPBMetadata/Authorization.php', /^namespace Portcullis\\V1\\GPBMetadata;/m],
    ['cpp', 'portcullis/v1/authorization.pb.h', /^namespace v1 \{/m],
    ['objc', 'portcullis/v1/Authorization.pbobjc.h', /@interface PXXCheckRequest\b/],
  ])('--%s_out: %s', async (flag, file, content) => {
    const output = await generate(flag)
    expect(readFileSync(join(output, file), 'utf8')).toMatch(content)
    // Each language spells `error_reason` in its own way.
    const plain = (name: string) => name.toLowerCase().replaceAll('_', '')
    const made = plain(globSync('**/*.*', { cwd: output }).join('\n'))
    expect(NAMED.filter((name) => !made.includes(plain(name)))).toEqual([])
  })

  test.skipIf(!go.ok).each([
    ['go', 'portcullis/v1/authorization.pb.go'],
    ['go-grpc', 'portcullis/v1/authorization_grpc.pb.go'],
  ])('--%s_out: %s', async (flag, file) => {
    expect(readFileSync(join(await generate(flag), file), 'utf8')).toMatch(/^package portcullisv1$/m)
  })

  /** Runs protoc for every file of the contract. @returns the folder with its output */
  async function generate(flag: string): Promise<string> {
    const output = join(folder, flag)
    mkdirSync(output, { recursive: true })
    const protoc = join(dirname(python.ok ? (python.command[0] ?? '') : ''), 'protoc')
    const files = globSync('**/*.proto', { cwd: protos })
    const env = { PATH: [generators, process.env.PATH].join(delimiter) }
    await run(protoc, [`--proto_path=${protos}`, `--${flag}_out=${output}`, ...files], { env })
    return output
  }
})
