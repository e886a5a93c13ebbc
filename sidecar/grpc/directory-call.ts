/** One call of `portcullis.v1.DirectoryService`: what it needs, and what it does with a message that was read. */
import type { BinaryWriter } from '@bufbuild/protobuf/wire'
import type { Administration } from '../authority/administration.ts'
import type { Need, Principal } from '../usecases/directory.ts'
import type { Services } from '../usecases/services.ts'
import { decoded } from './handler.ts'

/** What the work of a call is given. */
export interface Context {
  readonly administration: Administration
  readonly principal: Principal
  /** For the audit trail. */
  readonly actor: string
  readonly services: Services
}

/** A call: needs, and work. The account that it is about is in its request. */
export interface Call {
  readonly need: Need
  readonly run: (bytes: Buffer, identified: (account: string, holder?: string) => Context) => Promise<Buffer>
}

interface Message<T> {
  decode(bytes: Uint8Array): T
  encode(value: T): BinaryWriter
}

export function call<Request extends object, Response>(
  need: Need,
  request: Message<Request>,
  response: Message<Response>,
  work: (request: Request, context: Context) => Promise<Response>,
): Call {
  return {
    need,
    run: async (bytes, identified) => {
      const value = decoded(() => request.decode(bytes))
      const { account = '', userName, name } = value as { account?: string; userName?: string; name?: string }
      const context = identified(account, userName ?? name)
      return Buffer.from(response.encode(await work(value, context)).finish())
    },
  }
}
