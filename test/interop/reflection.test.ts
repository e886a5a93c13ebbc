/** Reflection: clients without the protos learn the contract from the sidecar. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type CommandOptions, run } from '../support/interop/command.ts'
import { type Sidecar, startSidecar } from '../support/interop/sidecar.ts'
import type { Available } from './setup.ts'

const SERVICE = 'portcullis.v1.AuthorizationService'

const METHODS =
  'Check CheckBatch CheckStream Issue Revoke Plan GetMatrix WatchMatrix WatchChanges DescribeTokens GetPromotedMatrix'.split(
    ' ',
  )

const python = inject('pythonReflection')
const grpcurl = inject('grpcurl')

let sidecar: Sidecar
beforeAll(async () => {
  sidecar = await startSidecar()
})
afterAll(() => sidecar?.stop())

test.skipIf(!python.ok)('Python lists the services and their methods by reflection (v1alpha)', async () => {
  const services = JSON.parse(await runProgram(python, sidecar.address))
  expect(services).toMatchObject({ [SERVICE]: METHODS })
  expect(services['grpc.health.v1.Health']).toEqual(expect.arrayContaining(['Check', 'Watch']))
})

describe.skipIf(!grpcurl.ok)('grpcurl, by reflection (v1)', () => {
  const ask = (...args: string[]) => runProgram(grpcurl, '-plaintext', ...args)

  test('lists the services', async () => {
    expect((await ask(sidecar.address, 'list')).trim().split('\n')).toEqual(
      expect.arrayContaining([SERVICE, 'grpc.health.v1.Health']),
    )
  })

  test('lists the methods of the service', async () => {
    const listed = (await ask(sidecar.address, 'list', SERVICE)).trim().split('\n')
    expect(listed.toSorted()).toEqual(METHODS.map((method) => `${SERVICE}.${method}`).toSorted())
  })

  test.each([
    [SERVICE, 'rpc Check ( .portcullis.v1.CheckRequest ) returns ( .portcullis.v1.CheckResponse );'],
    ['portcullis.v1.CheckResponse', '.google.protobuf.Duration cache_for = 11;'],
    ['grpc.health.v1.Health', 'rpc Check ('],
    ['google.rpc.ErrorInfo', 'string reason = 1;'],
    ['envoy.service.auth.v3.Authorization', 'rpc Check ( .envoy.service.auth.v3.CheckRequest )'],
  ])('describes %s', async (symbol, expected) => {
    expect(await ask(sidecar.address, 'describe', symbol)).toContain(expected)
  })

  test('describes with the comments of the protos', async () => {
    expect(await ask(sidecar.address, 'describe', SERVICE)).toContain(
      'Verifies a credential, or trusts the given claims, and decides whether it opens the API.',
    )
  })
})

function runProgram(program: Available, ...args: readonly string[]): Promise<string> {
  if (!program.ok) throw new Error(program.why)
  const [command = '', ...given] = program.command
  const options: CommandOptions = { env: program.env }
  return run(command, [...given, ...args], options)
}
