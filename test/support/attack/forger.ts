/** Checks of forged tokens: each has another signature, in a form that costs its verifier the most. */
import { randomFillSync } from 'node:crypto'
import { connect } from 'node:http2'
import { CheckBatchRequest, CheckRequest } from '../../../proto/gen/portcullis/v1/authorization.ts'

/** How many calls are in flight at any time. */
interface Shape {
  readonly connections: number
  /** On each connection. */
  readonly inFlight: number
}

/** Each check is about a token that was never seen before. */
export interface Forgeries {
  readonly type: 'forgeries'
  /** A genuine token. The forged ones have its claims. */
  readonly token: string
  readonly checks?: Shape
  readonly batches?: Shape & { readonly length: number }
}

const SERVICE = '/portcullis.v1.AuthorizationService'
const SIGNATURE_BYTES = 64
const PREFIX_BYTES = 5

/** Calls until the process ends. @param counted takes how each call ended */
export function forge(
  address: string,
  { token, checks, batches }: Forgeries,
  counted: (how: string) => void,
): void {
  const check = {
    api: 'dedicated-servers',
    subject: { $case: 'credentials' as const, value: { headers: [{ name: 'X-Auth-Token', value: token }] } },
    target: undefined,
    clientAddress: '',
    request: undefined,
  }
  if (checks !== undefined) {
    const request = new ForgedRequest(CheckRequest.encode(check).finish(), token)
    callAlways(address, `${SERVICE}/Check`, checks, request, counted)
  }
  if (batches !== undefined) {
    const all = { checks: Array.from({ length: batches.length }, () => check) }
    const request = new ForgedRequest(CheckBatchRequest.encode(all).finish(), token)
    callAlways(address, `${SERVICE}/CheckBatch`, batches, request, counted)
  }
}

/**
 * A request whose tokens get other signatures each time. It is encoded once, so that the attacker is fast.
 */
class ForgedRequest {
  readonly #framed: Buffer
  readonly #signatures: readonly number[]

  constructor(message: Uint8Array, token: string) {
    this.#framed = Buffer.concat([Buffer.alloc(PREFIX_BYTES), message])
    this.#framed.writeUInt32BE(message.length, 1)
    const claimed = token.slice(0, token.lastIndexOf('.') + 1)
    const signatures: number[] = []
    for (let at = this.#framed.indexOf(claimed); at >= 0; at = this.#framed.indexOf(claimed, at + 1))
      signatures.push(at + claimed.length)
    this.#signatures = signatures
  }

  next(): Buffer {
    const random = randomFillSync(Buffer.allocUnsafe(this.#signatures.length * SIGNATURE_BYTES))
    this.#signatures.forEach((at, index) => {
      const signature = random.subarray(index * SIGNATURE_BYTES, (index + 1) * SIGNATURE_BYTES)
      // A larger number is refused before anything is calculated (RFC 8032, §5.1.7).
      signature[SIGNATURE_BYTES - 1] = (signature[SIGNATURE_BYTES - 1] as number) & 0x0f
      this.#framed.write(signature.toString('base64url'), at, 'latin1')
    })
    return Buffer.from(this.#framed)
  }
}

function callAlways(
  address: string,
  path: string,
  { connections, inFlight }: Shape,
  request: ForgedRequest,
  counted: (how: string) => void,
): void {
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
  for (let connection = 0; connection < connections; connection++) {
    const session = connect(`http://${address}`)
    session.on('error', (error) => counted(error.message))
    const call = () => {
      if (session.closed || session.destroyed) return
      const stream = session.request(headers)
      let status = 'no status'
      const note = (fields: object) => {
        status = (fields as Record<string, string>)['grpc-status'] ?? status
      }
      stream.on('response', note).on('trailers', note)
      // The status says why.
      stream.on('error', () => {})
      stream.on('close', () => {
        counted(status === '0' ? 'OK' : status)
        call()
      })
      stream.resume().end(request.next())
    }
    session.on('connect', () => {
      for (let calls = 0; calls < inFlight; calls++) call()
    })
  }
}
