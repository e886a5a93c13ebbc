/**
 * The least that a unary call can cost: grpc-js with nothing behind it. The handler answers every `Check`
 * with the same bytes. Messages are not encoded or decoded, there are no interceptors, and channelz is off.
 *
 *     node bench/servers/constant.ts BYTES [signature]
 *
 * With `signature` it also verifies one Ed25519 signature a call. The difference is what a signature costs a
 * server under load.
 */
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js'
import { CHECK_PATH } from '../harness/grpc.ts'

const answer = Buffer.alloc(Number(process.argv[2]), 'x')
const same = (bytes: Buffer): Buffer => bytes
const constant: handleUnaryCall<Buffer, Buffer> = (_call, callback) => callback(null, answer)
const check = process.argv[3] === 'signature' ? verifying() : constant

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
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  process.stdout.write(`${JSON.stringify({ grpc: `127.0.0.1:${port}` })}\n`)
})
process.once('SIGTERM', () => server.forceShutdown())

/**
 * A handler that verifies the signature of a text as long as an IAM token, and then gives the same answer.
 */
function verifying(): handleUnaryCall<Buffer, Buffer> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const signed = Buffer.alloc(400, 'x')
  const signature = sign(null, signed, privateKey)
  return (_call, callback) => {
    if (!verify(null, signed, publicKey, signature)) throw new Error('the signature is not valid')
    callback(null, answer)
  }
}
