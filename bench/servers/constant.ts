/**
 * The least that a unary call can cost: grpc-js with nothing behind it. The handler answers every `Check`
 * with the same bytes. Messages are not encoded or decoded, there are no interceptors, and channelz is off.
 *
 *     node bench/servers/constant.ts BYTES [signature]
 *
 * With `signature` it also verifies one Ed25519 signature a call. The difference is the cost of a signature
 * for a server under load.
 */
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { promisify } from 'node:util'
import { type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js'
import { CHECK_PATH } from '../harness/grpc.ts'
import { runProgram, type Served } from './served.ts'

const same = (bytes: Buffer): Buffer => bytes

export async function serve(bytes: string, work?: string): Promise<Served> {
  const answer = Buffer.alloc(Number(bytes), 'x')
  const constant: handleUnaryCall<Buffer, Buffer> = (_call, callback) => callback(null, answer)
  const check = work === 'signature' ? verifying(constant) : constant
  const server = new Server({ 'grpc.enable_channelz': 0 })
  server.addService(
    {
      check: {
        path: CHECK_PATH,
        requestStream: false,
        responseStream: false,
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      },
    },
    { check },
  )
  const bind = promisify(server.bindAsync.bind(server))
  const port = await bind('127.0.0.1:0', ServerCredentials.createInsecure())
  return { ready: { grpc: `127.0.0.1:${port}` }, stop: () => server.forceShutdown() }
}

/**
 * A handler that verifies the signature of a text as long as an IAM token, and then gives the same answer.
 */
function verifying(answered: handleUnaryCall<Buffer, Buffer>): handleUnaryCall<Buffer, Buffer> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const signed = Buffer.alloc(400, 'x')
  const signature = sign(null, signed, privateKey)
  return (call, callback) => {
    if (!verify(null, signed, publicKey, signature)) throw new Error('the signature is not valid')
    answered(call, callback)
  }
}

if (import.meta.main) await runProgram(serve)
