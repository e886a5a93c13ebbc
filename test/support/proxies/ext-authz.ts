/** Envoy's questions and answers, by an implementation of protobuf that is not ours. */
import { join } from 'node:path'
import { loadSync, type MessageTypeDefinition, type ServiceDefinition } from '@grpc/proto-loader'
import { ROOT } from '../checkout/sources.ts'
import { BlackBox, type CallWishes, type Message } from '../contract/black-box.ts'

const definitions = loadSync('envoy/service/auth/v3/external_auth.proto', {
  ...{ keepCase: true, longs: Number, enums: Number, oneofs: true, arrays: true },
  includeDirs: [join(ROOT, 'sidecar/contract/ext-authz/proto')],
})

/** `envoy.service.auth.v3.Authorization`. */
export const extAuthzService = definitions['envoy.service.auth.v3.Authorization'] as ServiceDefinition

/** A message of the service, to write bytes and to read them. */
export function envoyMessage(
  name: 'CheckRequest' | 'CheckResponse',
): MessageTypeDefinition<Message, Message> {
  return definitions[`envoy.service.auth.v3.${name}`] as unknown as MessageTypeDefinition<Message, Message>
}

/** A header as `header_map` has it. */
export interface AnyHeader {
  readonly key?: string
  readonly raw_value?: Buffer
}

export type HeaderList = readonly (readonly [name: string, value: string])[]

/** A request that reached an Envoy. */
export interface RequestAtEnvoy {
  readonly context?: Readonly<Record<string, string>> | undefined
  readonly headers?: HeaderList
  /** Whether Envoy is configured with `encode_raw_headers`. */
  readonly raw?: boolean
  /** Address of the client. */
  readonly from?: string
  readonly method?: string
  readonly host?: string
  /** With the query. */
  readonly path?: string
}

/** The message that an Envoy sends for it. */
export function checkRequest({
  context = {},
  headers = [],
  raw = false,
  from = '127.0.0.1',
  method = 'GET',
  host = 'api.example',
  path = '/v1/items?limit=10',
}: RequestAtEnvoy): Message {
  const all: HeaderList = [[':method', method], [':path', path], ...headers]
  const joined = new Map<string, string>()
  for (const [name, value] of all) joined.set(name, joined.has(name) ? `${joined.get(name)},${value}` : value)
  return {
    attributes: {
      source: { address: { socket_address: { address: from, port_value: 40_000 } } },
      request: {
        http: {
          ...{ method, path, host, scheme: 'http' },
          ...(raw
            ? { header_map: { headers: all.map(([key, value]) => ({ key, raw_value: Buffer.from(value) })) } }
            : { headers: Object.fromEntries(joined) }),
        },
      },
      context_extensions: context,
    },
  }
}

/** An Envoy's treatment of the request. */
export interface Verdict {
  readonly allowed: boolean
  /** Of the answer to the client; `undefined`: the request passes. */
  readonly status?: number | undefined
  readonly body?: Message | undefined
  /** Of the request behind Envoy, or of the answer to the client. */
  readonly headers: Readonly<Record<string, string>>
  readonly removed: readonly string[]
  readonly metadata: Message
}

interface Option {
  readonly header: { readonly key: string; readonly value: string }
  readonly append: { readonly value?: boolean } | null
  readonly append_action?: number
}

/** Reads the answer as Envoy does, whatever its version. @throws Error where versions would differ */
export function verdictOf(response: Message): Verdict {
  const { status, ok_response, denied_response, dynamic_metadata } = response as Record<
    string,
    Message | undefined
  >
  if (status === undefined || status === null)
    throw new Error('expected a status: without one the request passes')
  const allowed = (status.code ?? 0) === 0
  if (allowed !== (ok_response !== undefined)) throw new Error('expected the response of the status')
  const options = ((ok_response ?? denied_response)?.headers ?? []) as Option[]
  for (const { append, append_action } of options)
    if (append === null || append.value === true || append_action !== 2)
      throw new Error('expected headers that overwrite, for every version of Envoy')
  const body = denied_response?.body
  return {
    allowed,
    status: (denied_response?.status as Message | undefined)?.code as number | undefined,
    body: typeof body === 'string' ? JSON.parse(body) : undefined,
    headers: Object.fromEntries(options.map(({ header: { key, value } }) => [key, value])),
    removed: (ok_response?.headers_to_remove ?? []) as string[],
    metadata: plain({ structValue: dynamic_metadata ?? {} }) as Message,
  }
}

/** An Envoy without the rest of it: asks the sidecar about requests. */
export class EnvoyClient {
  readonly #box: BlackBox

  constructor(address: string) {
    this.#box = new BlackBox(address, extAuthzService)
  }

  async ask(request: RequestAtEnvoy, wishes?: CallWishes): Promise<Verdict> {
    return verdictOf(await this.#box.ask('check', checkRequest(request), wishes))
  }

  /** Sends bytes as they are. */
  send(bytes: Buffer): Promise<Message> {
    return this.#box.ask('check', bytes)
  }
}

/** A `google.protobuf.Value` as JSON. */
function plain(value: Message): unknown {
  const { structValue, listValue } = value as Record<string, Message | undefined>
  if (listValue !== undefined) return ((listValue.values ?? []) as Message[]).map(plain)
  if (structValue === undefined) return value.stringValue ?? value.boolValue ?? value.numberValue ?? null
  const fields = Object.entries((structValue.fields ?? {}) as Record<string, Message>)
  return Object.fromEntries(fields.map(([name, field]) => [name, plain(field)]))
}
