/** Cerbos: its server from npm, a policy for each API, and the same questions in its protocol. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { Effect } from '@cerbos/api/cerbos/effect/v1/effect_pb'
import { CheckResourcesRequestSchema } from '@cerbos/api/cerbos/request/v1/request_pb'
import { CheckResourcesResponseSchema } from '@cerbos/api/cerbos/response/v1/response_pb'
import { CommandFailed } from '../harness/command.ts'
import { accepts, ForeignServer, freeAddress } from '../harness/foreign.ts'
import { http1Request } from '../harness/http1.ts'
import type { Asked, Rule } from './peer.ts'

export const CERBOS_PATH = '/cerbos.svc.v1.CerbosService/CheckResources'

export const CERBOS_CONFIGURED =
  'Cerbos: one resource and one action a call; policies from the disk, not watched; a policy for each API, with the kinds as roles and no conditions; audit, telemetry, metrics, admin API, playground and request logs are off.'

const ACTION = 'open'

/** @returns path of the server's binary @throws CommandFailed if npm has none for this platform */
export async function installCerbos(): Promise<string> {
  const name = `cerbos-${process.platform}-${process.arch}`
  const require = createRequire(import.meta.url)
  try {
    return require.resolve(`@cerbos/${name}`)
  } catch (error) {
    throw new CommandFailed(`\`npm ci\` has installed no @cerbos/${name}`, { cause: error })
  }
}

export interface Cerbos {
  readonly server: ForeignServer
  /** Where gRPC listens. */
  readonly address: string
  /** Where HTTP listens. */
  readonly httpAddress: string
}

/** @param folder for its policies and configuration */
export async function startCerbos(binary: string, rules: readonly Rule[], folder: string): Promise<Cerbos> {
  const policies = join(folder, 'policies')
  mkdirSync(policies, { recursive: true })
  for (const rule of rules) writeFileSync(join(policies, `${rule.api}.yaml`), JSON.stringify(policyOf(rule)))
  const [address, http] = [await freeAddress(), await freeAddress()]
  const configuration = join(folder, 'cerbos.yaml')
  writeFileSync(configuration, JSON.stringify(configurationOf(address, http, policies)))
  const server = await ForeignServer.start({
    command: binary,
    args: ['server', '--config', configuration, '--log-level', 'error'],
    ready: () => accepts(address),
  })
  return { server, address, httpAddress: http }
}

export function cerbosQuestion({ api, kind }: Asked): Buffer {
  const request = create(CheckResourcesRequestSchema, {
    principal: { id: 'token', roles: [kind] },
    resources: [{ actions: [ACTION], resource: { kind: api, id: 'any' } }],
  })
  return Buffer.from(toBinary(CheckResourcesRequestSchema, request))
}

export function cerbosAnswer(message: Buffer): boolean {
  const { results } = fromBinary(CheckResourcesResponseSchema, message)
  return results.length === 1 && results[0]?.actions[ACTION] === Effect.ALLOW
}

/** The same question over HTTP. */
export function cerbosHttpQuestion({ api, kind }: Asked): Buffer {
  const body = {
    principal: { id: 'token', roles: [kind] },
    resources: [{ actions: [ACTION], resource: { kind: api, id: 'any' } }],
  }
  const headers = { host: 'cerbos', 'content-type': 'application/json' }
  return http1Request('POST', '/api/check/resources', headers, JSON.stringify(body))
}

export function cerbosHttpAnswer(body: Buffer): boolean {
  const { results } = JSON.parse(body.toString()) as {
    readonly results: readonly { readonly actions: Readonly<Record<string, string>> }[]
  }
  return results.length === 1 && results[0]?.actions[ACTION] === 'EFFECT_ALLOW'
}

/** Cerbos reads YAML, and JSON is YAML. */
function policyOf({ api, kinds }: Rule) {
  const rules = kinds.length === 0 ? [] : [{ actions: [ACTION], effect: 'EFFECT_ALLOW', roles: kinds }]
  return {
    apiVersion: 'api.cerbos.dev/v1',
    resourcePolicy: { resource: api, version: 'default', rules },
  }
}

function configurationOf(grpc: string, http: string, policies: string) {
  return {
    server: {
      grpcListenAddr: grpc,
      httpListenAddr: http,
      metricsEnabled: false,
      logRequestPayloads: false,
      adminAPI: { enabled: false },
      playgroundEnabled: false,
    },
    audit: { enabled: false },
    telemetry: { disabled: true },
    storage: { driver: 'disk', disk: { directory: policies, watchForChanges: false } },
  }
}
